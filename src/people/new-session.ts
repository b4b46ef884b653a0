import { type Actor, INSTANCE } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import { randomText } from '../platform/random.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { type PersonRow, recordSignIn } from '../store/people/people.ts';
import { endSessionByHash, insertSession, type SessionRow } from '../store/people/sessions.ts';
import { mailUsedCode } from './mails.ts';
import type { PeopleDeps, Visitor } from './people-deps.ts';

const TOKEN_CHARS = 43;
const MOST_AGENT_CHARS = 256;

/** The token goes into the cookie. Only its keyed hash is stored. */
export interface SignedIn {
  token: string;
  session: SessionRow;
  /** The owner of the session that the visitor came with and that was ended. */
  endedPersonId: string | null;
}

/** The transaction of a sign-in. */
export async function signingIn(
  deps: PeopleDeps,
  visitor: Visitor,
  work: (tx: Queryable) => Promise<SignedIn>,
): Promise<SignedIn> {
  const signedIn = await noticingUsedCodes(deps, visitor, () => deps.db.transaction(work));
  if (signedIn.endedPersonId !== null) deps.forgetCallers(signedIn.endedPersonId);
  return signedIn;
}

/**
 * Signs a person in, in a transaction that checked the credentials. Each sign-in makes a token of its own, whatever the
 * visitor came with, and ends the session that the visitor came with.
 */
export async function startSession(
  tx: Queryable,
  deps: PeopleDeps,
  { person, method, hasSecondFactor }: { person: PersonRow; method: string; hasSecondFactor: boolean },
  visitor: Visitor,
): Promise<SignedIn> {
  const ended = await endCurrent(tx, deps, visitor);
  const token = randomText(TOKEN_CHARS);
  const session = await insertSession(tx, {
    id: deps.ids.next(),
    person_id: person.id,
    hash: deps.sealer.lookupHash(token),
    method,
    has_second_factor: hasSecondFactor,
    address: visitor.address,
    user_agent: visitor.userAgent.replaceAll('\0', '').slice(0, MOST_AGENT_CHARS),
    seconds: deps.rules.sessionSeconds,
  });
  await recordSignIn(tx, person.id);
  const after = { method, has_second_factor: hasSecondFactor, user_agent: session.user_agent };
  await insertAudit(tx, { ids: deps.ids, projectId: null, actor: personOf(session) }, [
    { action: 'person.signed_in', resourceId: person.id, before: null, after },
  ]);
  return { token, session, endedPersonId: ended?.person_id ?? null };
}

/** Ends the session that the visitor came with, on every node. */
export async function endCurrent(
  tx: Queryable,
  deps: PeopleDeps,
  visitor: Visitor,
): Promise<SessionRow | null> {
  if (visitor.token === undefined) return null;
  const ended = await endSessionByHash(tx, deps.sealer.lookupHash(visitor.token));
  if (ended === undefined) return null;
  await notifyOfPerson(tx, ended.person_id);
  return ended;
}

/** The owner of a session in the form of the audit log. */
export function personOf(session: SessionRow, address = session.address): Actor {
  return { type: 'person', id: session.person_id, credentialId: session.id, address };
}

/** A code of the app that is right, but not newer than the last one used. The answer is that for a wrong code. */
export class UsedCode extends AppError {
  readonly person: PersonRow;

  constructor(person: PersonRow) {
    super('sign_in_refused');
    this.person = person;
  }
}

/**
 * Runs the transaction that takes a code. A code that was used before may have been seen by
 * others: the audit log has it, and the owner gets a mail. Both come after the transaction, which the refusal rolled back.
 */
export async function noticingUsedCodes<T>(
  deps: PeopleDeps,
  visitor: Visitor,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UsedCode) await tell(deps, error.person, visitor);
    throw error;
  }
}

async function tell(
  deps: PeopleDeps,
  { id, email }: PersonRow,
  { address, userAgent }: Visitor,
): Promise<void> {
  const entry = {
    action: 'person.used_code_refused',
    resourceId: id,
    before: null,
    after: { address, user_agent: userAgent.replaceAll('\0', '').slice(0, 256) },
  } as const;
  await insertAudit(deps.db, { ids: deps.ids, projectId: null, actor: INSTANCE }, [entry]);
  mailUsedCode(deps, email, address);
}
