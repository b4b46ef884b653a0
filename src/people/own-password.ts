import { AppError } from '../domain/errors.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import { getPerson, lockPerson, lockPersonByEmail } from '../store/people/people.ts';
import { attemptSucceeded } from '../store/people/sign-in-failures.ts';
import { countAttempt } from './count-attempt.ts';
import { linkMade } from './invitations.ts';
import { makeLink, replacePassword } from './links.ts';
import { mailChange, mailLink } from './mails.ts';
import { type SignedIn, signingIn, startSession } from './new-session.ts';
import type { Self } from './own-sessions.ts';
import { checkPassword } from './password-rules.ts';
import { normalEmail, type PeopleDeps, type Visitor } from './people-deps.ts';

export interface PasswordChange {
  /** Not needed by an account that has no password yet. */
  current: string | undefined;
  next: string;
  hasSecondFactor: boolean;
}

/** A new password under the current one. Every session ends, and this one begins again with a new token. */
export async function changePassword(
  deps: PeopleDeps,
  { personId, actor }: Self,
  { current, next, hasSecondFactor }: PasswordChange,
  visitor: Visitor,
): Promise<SignedIn> {
  const person = await getPerson(deps.db, personId);
  if (person === undefined) throw new AppError('session_ended');
  const keys = await countAttempt(deps, person.email, visitor);
  const known = person.password_hash;
  if (known !== null && !(await deps.hasher.verify(current ?? '', known)))
    throw new AppError('sign_in_refused');
  await checkPassword('new_password', next, person);
  const hash = await deps.hasher.hash(next);
  const signedIn = await signingIn(deps, visitor, async (tx) => {
    const locked = await lockPerson(tx, personId);
    if (locked === undefined || locked.deactivated_at !== null || locked.password_hash !== known)
      throw new AppError('session_ended');
    await attemptSucceeded(tx, keys);
    await replacePassword(tx, locked, hash);
    const note = { action: 'person.password_changed', resourceId: personId } as const;
    const place = { ids: deps.ids, projectId: null, actor };
    await insertAudit(tx, place, [{ ...note, before: null, after: null }]);
    const how = { person: locked, method: 'password', hasSecondFactor };
    return startSession(tx, deps, how, { ...visitor, token: undefined });
  });
  deps.forgetCallers(personId);
  mailChange(deps, person.email, 'password');
  return signedIn;
}

/**
 * Mails a link for a new password. The answer and its time are the same for an address without an account: the link is
 * made after the answer.
 */
export async function requestReset(deps: PeopleDeps, email: string, visitor: Visitor): Promise<void> {
  const account = normalEmail(email);
  await countAttempt(deps, `reset ${account}`, visitor);
  void mailReset(deps, account).catch((error: Error) => deps.failed(error, 'a reset could not be mailed'));
}

async function mailReset(deps: PeopleDeps, account: string): Promise<void> {
  const made = await deps.db.transaction(async (tx) => {
    const person = await lockPersonByEmail(tx, account);
    if (person === undefined || person.deactivated_at !== null) return null;
    const actor = { type: 'person', id: person.id } as const;
    await insertAudit(tx, { ids: deps.ids, projectId: null, actor }, [linkMade(person, 'reset')]);
    return { person, link: await makeLink(tx, deps, person, { purpose: 'reset', wasMailed: true }) };
  });
  if (made !== null) mailLink(deps, made.person, 'reset', made.link);
}
