import { INSTANCE } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import { insertAudit } from '../store/audit/audit-entries.ts';
import type { PersonRow } from '../store/people/people.ts';
import { mailUsedCode } from './mails.ts';
import type { PeopleDeps, Visitor } from './people-deps.ts';

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
