import { AppError, invalid } from '../domain/errors.ts';
import { randomText } from '../platform/random.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { removeIdentities } from '../store/people/identities.ts';
import {
  clearCredentials,
  getPerson,
  lockPerson,
  type PersonRow,
  type PersonWithCredentials,
  setPassword,
  updatePerson,
} from '../store/people/people.ts';
import { setTotp } from '../store/people/second-factors.ts';
import { endSessions } from '../store/people/sessions.ts';
import { attemptSucceeded } from '../store/people/sign-in-failures.ts';
import {
  findLink,
  insertLink,
  type LinkPurpose,
  removeLinks,
  type SignInLinkRow,
  takeLink,
} from '../store/people/sign-in-links.ts';
import { countAttempt } from './count-attempt.ts';
import { mailChange } from './mails.ts';
import { personOf, type SignedIn, signingIn, startSession } from './new-session.ts';
import { checkPassword } from './password-rules.ts';
import type { PeopleDeps, Visitor } from './people-deps.ts';
import { isOn, takeCode } from './second-factor.ts';

/**
 * Links that work once. The token stands after the # of the address, so that no server or proxy logs it. Only its keyed
 * hash is stored. States of a link:
 *   made  -> until it expires, or a newer one of the same purpose is made
 *   taken -> removed in the transaction that signs the person in: of two uses at once, one succeeds
 */
const TOKEN_CHARS = 43;
const SECONDS = { sign_in: 15 * 60, reset: 3_600, invitation: 7 * 86_400 } as const;

/** The address of a new link. */
export async function makeLink(
  tx: Queryable,
  deps: PeopleDeps,
  person: PersonRow,
  wanted: { purpose: LinkPurpose; wasMailed: boolean; endsSecondFactor?: boolean },
): Promise<string> {
  const token = randomText(TOKEN_CHARS);
  await insertLink(tx, {
    hash: deps.sealer.lookupHash(token),
    person_id: person.id,
    purpose: wanted.purpose,
    was_mailed: wanted.wasMailed,
    ends_second_factor: wanted.endsSecondFactor ?? false,
    seconds: SECONDS[wanted.purpose],
  });
  return `${deps.publicUrl()}/sign-in#link=${token}`;
}

interface LinkFound {
  link: SignInLinkRow;
  person: PersonWithCredentials;
}

/** The purpose of a link and its person. The link can still be used. */
export async function checkLink(deps: PeopleDeps, token: string): Promise<LinkFound> {
  const link = await findLink(deps.db, deps.sealer.lookupHash(token));
  const person = link === undefined ? undefined : await getPerson(deps.db, link.person_id);
  if (link === undefined || person === undefined || person.deactivated_at !== null)
    throw new AppError('link_rejected');
  return { link, person };
}

/** Whether the use of a link sets a password. */
export function needsPassword(deps: PeopleDeps, link: SignInLinkRow): boolean {
  return link.purpose !== 'sign_in' && deps.rules.hasPasswords;
}

/**
 * Whether its use needs a code of the second factor. The first to prove an address need not know what an earlier holder of
 * the account set up.
 */
export function needsCode(link: SignInLinkRow, person: PersonWithCredentials): boolean {
  return isOn(person) && !link.ends_second_factor && !isFirstProof(link, person);
}

const isFirstProof = (link: SignInLinkRow, person: PersonRow): boolean =>
  link.was_mailed && !person.is_email_verified;

interface LinkUse {
  token: string;
  password?: string | undefined;
  name?: string | undefined;
  code?: string | undefined;
}

/** Uses a link up and signs its person in. After a refusal the link can be used again. */
export async function followLink(deps: PeopleDeps, use: LinkUse, visitor: Visitor): Promise<SignedIn> {
  const { link, person } = await checkLink(deps, use.token);
  // A code can be guessed, so a try with one counts as a sign-in does.
  const keys = isOn(person) ? await countAttempt(deps, person.email, visitor) : null;
  const name = use.name?.trim() || person.name;
  let passwordHash: string | null = null;
  if (needsPassword(deps, link)) {
    if (use.password === undefined) throw invalid('password', 'is required');
    await checkPassword('password', use.password, { email: person.email, name });
    passwordHash = await deps.hasher.hash(use.password);
  }
  const signedIn = await signingIn(deps, visitor, async (tx) => {
    // The account is locked first, as changes of it do.
    const locked = await lockPerson(tx, person.id);
    const taken = await takeLink(tx, deps.sealer.lookupHash(use.token));
    if (taken === undefined || locked === undefined || locked.deactivated_at !== null)
      throw new AppError('link_rejected');
    const hasSecondFactor = needsCode(taken, locked);
    if (hasSecondFactor) await takeCode(tx, deps, locked, use.code);
    else if (isOn(locked)) await setTotp(tx, locked.id, null);
    if (keys !== null) await attemptSucceeded(tx, keys);
    const owned = isFirstProof(taken, locked) ? await takeOver(tx, locked.id) : locked;
    if (passwordHash !== null) await replacePassword(tx, locked, passwordHash);
    const named = await updatePerson(tx, owned.id, { ...owned, name, isActive: true });
    const how = { person: named, method: 'link', hasSecondFactor };
    const started = await startSession(tx, deps, how, visitor);
    const place = { ids: deps.ids, projectId: null, actor: personOf(started.session) };
    const after = { ...named, purpose: taken.purpose };
    await insertAudit(tx, place, [
      { action: 'person.link_used', resourceId: named.id, before: locked, after },
    ]);
    return started;
  });
  deps.forgetCallers(person.id);
  if (passwordHash !== null && person.password_hash !== null) mailChange(deps, person.email, 'password');
  if (isOn(person) && !needsCode(link, person)) mailChange(deps, person.email, 'second_factor_off');
  return signedIn;
}

/** A new password ends every session and every other link. */
export async function replacePassword(tx: Queryable, person: PersonRow, hash: string): Promise<void> {
  await setPassword(tx, person.id, hash);
  await endSessions(tx, person.id);
  await removeLinks(tx, person.id);
  await notifyOfPerson(tx, person.id);
}

/**
 * Gives an account to the owner of its address, and marks the address as confirmed. Another person may have set the
 * account up before: its password, second factor, sessions, links and identities at providers are removed. The caller
 * holds the lock of the row.
 */
export async function takeOver(tx: Queryable, id: string): Promise<PersonWithCredentials> {
  await endSessions(tx, id);
  await removeLinks(tx, id);
  await removeIdentities(tx, id);
  await notifyOfPerson(tx, id);
  return clearCredentials(tx, id);
}
