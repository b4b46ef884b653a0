import { AppError } from '../domain/errors.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import { findPersonByEmail, lockPerson, strengthenPassword } from '../store/people/people.ts';
import { attemptSucceeded } from '../store/people/sign-in-failures.ts';
import { countAttempt } from './count-attempt.ts';
import { endCurrent, personOf, type SignedIn, signingIn, startSession } from './new-session.ts';
import { sessionEnded } from './own-sessions.ts';
import { normalEmail, type PeopleDeps, type Visitor } from './people-deps.ts';
import { isOn, takeCode } from './second-factor.ts';

/**
 * Sign-in with a password. The steps are the same for an account that does not exist:
 *   counted -> as a failed attempt, before anything is checked; after too many failures: refused, with a time to wait
 *   checked -> the password, which takes as long for an unknown account
 *   taken   -> under the lock of the account, which is active and still has the password that was checked. The code of
 *              a second factor is used up. The attempt no longer counts as failed, and a session begins.
 */
export async function signIn(
  deps: PeopleDeps,
  { email, password, code }: { email: string; password: string; code?: string | undefined },
  visitor: Visitor,
): Promise<SignedIn> {
  const account = normalEmail(email);
  const keys = await countAttempt(deps, account, visitor);
  const person = await findPersonByEmail(deps.db, account);
  const known = person?.password_hash ?? null;
  const isRight = await deps.hasher.verify(password, known);
  if (person === undefined || known === null || !isRight) throw new AppError('sign_in_refused');
  const signedIn = await signingIn(deps, visitor, async (tx) => {
    const locked = await lockPerson(tx, person.id);
    if (locked === undefined || locked.deactivated_at !== null || locked.password_hash !== known)
      throw new AppError('sign_in_refused');
    if (isOn(locked)) await takeCode(tx, deps, locked, code);
    await attemptSucceeded(tx, keys);
    const how = { person: locked, method: 'password', hasSecondFactor: isOn(locked) };
    return startSession(tx, deps, how, visitor);
  });
  if (deps.hasher.isWeak(known)) {
    const to = await deps.hasher.hash(password);
    await strengthenPassword(deps.db, person.id, { from: known, to });
  }
  return signedIn;
}

/** Ends the session of the cookie. True if there was one. */
export async function signOut(deps: PeopleDeps, visitor: Visitor): Promise<boolean> {
  const ended = await deps.db.transaction(async (tx) => {
    const session = await endCurrent(tx, deps, visitor);
    if (session === null) return null;
    const place = { ids: deps.ids, projectId: null, actor: personOf(session, visitor.address) };
    await insertAudit(tx, place, [sessionEnded(session)]);
    return session;
  });
  if (ended !== null) deps.forgetCallers(ended.person_id);
  return ended !== null;
}
