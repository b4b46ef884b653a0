import type { AuditAction } from '../domain/audit.ts';
import { AppError, wrongState } from '../domain/errors.ts';
import { randomText } from '../platform/random.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { getPerson, lockPerson, type PersonWithCredentials } from '../store/people/people.ts';
import { confirmTotp, setRecoveryHashes, setTotp, takeTotpStep } from '../store/people/second-factors.ts';
import { endSessions } from '../store/people/sessions.ts';
import { attemptSucceeded } from '../store/people/sign-in-failures.ts';
import { countAttempt } from './count-attempt.ts';
import { type CredentialChange, mailChange } from './mails.ts';
import { noticingUsedCodes, type SignedIn, startSession, UsedCode } from './new-session.ts';
import type { Self } from './own-sessions.ts';
import { endingRights, type PeopleDeps, type Visitor } from './people-deps.ts';
import { newSeed, otpauthUrl, stepOf } from './totp.ts';

/**
 * The second factor of an account: codes of an authenticator app, and recovery codes for when it is lost. States:
 *   none  -> begun: there is a seed, and sign-in does not ask for codes yet
 *   begun -> on: with the first code. Sign-in then asks for a code.
 *   on    -> none: removed by its owner with a code, or by a reset link that says so
 *
 * The row of the person is locked while a code is checked, so a code works once, also with many tries at once.
 */
const RECOVERY_CODES = 10;
const RECOVERY_CHARS = 10;
/** Without letters that look like digits. */
const RECOVERY_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';

const place = (personId: string) => `second factor of ${personId}`;

export const isOn = (person: PersonWithCredentials): boolean => person.totp_confirmed_at !== null;

/** Uses a code up, in a transaction that has locked the person. Throws if it is missing or wrong. */
export async function takeCode(
  tx: Queryable,
  deps: PeopleDeps,
  person: PersonWithCredentials,
  code: string | undefined,
): Promise<void> {
  if (code === undefined || code === '') throw new AppError('code_required');
  const plain = plainCode(code);
  const step = findStep(deps, person, plain);
  if (step !== null && step <= person.totp_step) throw new UsedCode(person);
  if (step !== null) return takeTotpStep(tx, person.id, step);
  const hash = recoveryHash(deps, person.id, plain);
  const left = person.recovery_hashes.filter((known) => !known.equals(hash));
  if (left.length === person.recovery_hashes.length) throw new AppError('sign_in_refused');
  await setRecoveryHashes(tx, person.id, left);
}

/** As it is shown, in groups or in capitals. */
const plainCode = (code: string): string => code.toLowerCase().replaceAll(/[\s-]/g, '');

/** The step of a code that is valid now, used or not. */
function findStep(deps: PeopleDeps, person: PersonWithCredentials, code: string): number | null {
  if (person.sealed_totp === null) return null;
  const seed = deps.sealer.open(person.sealed_totp, place(person.id));
  return stepOf(seed, code, deps.now());
}

function recoveryHash(deps: PeopleDeps, personId: string, code: string): Buffer {
  return deps.sealer.lookupHash(`recovery code ${personId} ${code}`);
}

/** A new seed for the app. An earlier one that was never used is forgotten. */
export function beginSecondFactor(
  deps: PeopleDeps,
  { personId }: Self,
): Promise<{ secret: string; url: string }> {
  return deps.db.transaction(async (tx) => {
    const person = await lockSelf(tx, personId);
    if (isOn(person)) throw wrongState('There is a second factor already.');
    const secret = newSeed();
    await setTotp(tx, personId, deps.sealer.seal(secret, place(personId)));
    return { secret, url: otpauthUrl(secret, person.email) };
  });
}

/**
 * Switches the second factor on with its first code. The session gets a new token, and all others end. Returns the
 * recovery codes, which are shown this once.
 */
export async function confirmSecondFactor(
  deps: PeopleDeps,
  self: WithCode,
  visitor: Visitor,
): Promise<{ codes: string[]; signedIn: SignedIn }> {
  const codes = newCodes();
  const change = 'second_factor_on';
  const signedIn = await withCode(deps, { ...self, change }, visitor, async (tx, person) => {
    if (isOn(person) || person.sealed_totp === null)
      throw wrongState('Begin with POST /auth/second-factor/begin.');
    const step = findStep(deps, person, plainCode(self.code));
    if (step === null) throw new AppError('sign_in_refused');
    await confirmTotp(tx, person.id, { step, recoveryHashes: hashesOf(deps, person.id, codes) });
    await note(tx, deps, self, 'person.second_factor_on');
    await endSessions(tx, person.id);
    await notifyOfPerson(tx, person.id);
    return startSession(tx, deps, raised(person), { ...visitor, token: undefined });
  });
  return { codes, signedIn };
}

/** Raises a session that began without a code. It gets a new token. */
export function passSecondFactor(deps: PeopleDeps, self: WithCode, visitor: Visitor): Promise<SignedIn> {
  return withCode(deps, { ...self, change: null }, visitor, async (tx, person) => {
    await takeCode(tx, deps, person, self.code);
    return startSession(tx, deps, raised(person), visitor);
  });
}

export function removeSecondFactor(deps: PeopleDeps, self: WithCode, visitor: Visitor): Promise<null> {
  return withCode(deps, { ...self, change: 'second_factor_off' }, visitor, async (tx, person) => {
    await takeCode(tx, deps, person, self.code);
    await setTotp(tx, person.id, null);
    await note(tx, deps, self, 'person.second_factor_off');
    return null;
  });
}

export function renewRecoveryCodes(deps: PeopleDeps, self: WithCode, visitor: Visitor): Promise<string[]> {
  return withCode(deps, { ...self, change: 'recovery_codes' }, visitor, async (tx, person) => {
    await takeCode(tx, deps, person, self.code);
    const codes = newCodes();
    await setRecoveryHashes(tx, person.id, hashesOf(deps, person.id, codes));
    await note(tx, deps, self, 'person.recovery_codes_made');
    return codes;
  });
}

export type WithCode = Self & { code: string };

/** Counts a try as a sign-in does, works under the lock of the person, and tells the person of the `change` by mail. */
async function withCode<T>(
  deps: PeopleDeps,
  { personId, change }: WithCode & { change: CredentialChange | null },
  visitor: Visitor,
  work: (tx: Queryable, person: PersonWithCredentials) => Promise<T>,
): Promise<T> {
  const known = await getPerson(deps.db, personId);
  if (known === undefined) throw new AppError('session_ended');
  const keys = await countAttempt(deps, known.email, visitor);
  const result = await endingRights(deps, personId, () =>
    noticingUsedCodes(deps, visitor, () =>
      deps.db.transaction(async (tx) => {
        const done = await work(tx, await lockSelf(tx, personId));
        await attemptSucceeded(tx, keys);
        return done;
      }),
    ),
  );
  if (change !== null) mailChange(deps, known.email, change);
  return result;
}

async function lockSelf(tx: Queryable, personId: string): Promise<PersonWithCredentials> {
  const person = await lockPerson(tx, personId);
  if (person === undefined || person.deactivated_at !== null) throw new AppError('session_ended');
  return person;
}

const raised = (person: PersonWithCredentials) => ({
  person,
  method: 'second factor',
  hasSecondFactor: true,
});

async function note(
  tx: Queryable,
  deps: PeopleDeps,
  { personId, actor }: Self,
  action: AuditAction,
): Promise<void> {
  const entry = { action, resourceId: personId, before: null, after: null };
  await insertAudit(tx, { ids: deps.ids, projectId: null, actor }, [entry]);
}

const newCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () => randomText(RECOVERY_CHARS, RECOVERY_ALPHABET));

const hashesOf = (deps: PeopleDeps, personId: string, codes: string[]): Buffer[] =>
  codes.map((code) => recoveryHash(deps, personId, code));
