import { type Actor, type AuditNote, changeOf } from '../domain/audit.ts';
import { AppError, found } from '../domain/errors.ts';
import { audited } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { isUniqueViolation } from '../store/database/pg-errors.ts';
import {
  findPersonByEmail,
  firstAdministrator,
  insertPerson,
  lockPersonByEmail,
  type PersonRow,
  updatePerson,
} from '../store/people/people.ts';
import type { LinkPurpose } from '../store/people/sign-in-links.ts';
import { linkMade } from './invitations.ts';
import { makeLink, takeOver } from './links.ts';
import { normalEmail, type PeopleDeps } from './people-deps.ts';

/** The account of the operator. Its owner gives it another address. */
const OPERATOR = { email: 'admin@localhost', name: 'Administrator' };

interface Wanted {
  /** Undefined: an administrator of the instance, who is made if there is none. */
  email: string | undefined;
  purpose: LinkPurpose;
  endsSecondFactor: boolean;
}

interface Found {
  person: PersonRow;
  notes: AuditNote[];
}

/** A link for an account, for the holder of the instance key or an administrator of the instance. */
export async function makeLinkFor(
  deps: PeopleDeps,
  actor: Actor,
  { email, purpose, endsSecondFactor }: Wanted,
): Promise<{ person: PersonRow; link: string }> {
  const attempt = () =>
    audited(deps, { projectId: null, actor }, async (tx) => {
      const { person, notes } = await (email === undefined ? administrator(tx, deps) : accountOf(tx, email));
      const link = await makeLink(tx, deps, person, { purpose, wasMailed: false, endsSecondFactor });
      const audit = [...notes, linkMade(person, purpose)];
      return { result: { person, link }, audit, ids: [person.id], secret: link };
    });
  const made = await attempt().catch((error: unknown) => {
    // Another call has made the account meanwhile.
    if (isUniqueViolation(error)) return attempt();
    throw error;
  });
  deps.forgetCallers(made.person.id);
  return made;
}

async function accountOf(tx: Queryable, email: string): Promise<Found> {
  const person = found(await findPersonByEmail(tx, normalEmail(email)), 'person', email, '');
  if (person.deactivated_at !== null) throw new AppError('person_deactivated', { email: person.email });
  return { person, notes: [] };
}

/**
 * An administrator who can sign in. Where there is none, the account of the operator becomes one, in whatever state others
 * left it: it may be deactivated, or a project may have invited its address. Accounts of other people stay as they are.
 */
async function administrator(tx: Queryable, deps: PeopleDeps): Promise<Found> {
  const known = await firstAdministrator(tx);
  if (known !== undefined) return { person: known, notes: [] };
  const before = await lockPersonByEmail(tx, OPERATOR.email);
  if (before === undefined) {
    const fields = { ...OPERATOR, is_email_verified: true, is_instance_admin: true };
    const person = await insertPerson(tx, deps.ids.next(), fields);
    return { person, notes: [changeOf('person.created', null, person)] };
  }
  const taken = await takeOver(tx, before.id);
  const person = await updatePerson(tx, before.id, { ...taken, is_instance_admin: true, isActive: true });
  return { person, notes: [changeOf('person.updated', before, person)] };
}
