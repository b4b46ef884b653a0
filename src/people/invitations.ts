import { type Actor, type AuditNote, changeOf } from '../domain/audit.ts';
import { AppError, found } from '../domain/errors.ts';
import type { Role } from '../domain/role.ts';
import { audited, insertAudit } from '../store/config/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import {
  findPersonByEmail,
  firstAdministrator,
  insertPerson,
  membershipsOf,
  type PersonRow,
  setMembership,
  updatePerson,
} from '../store/people/people.ts';
import type { LinkPurpose } from '../store/people/sign-in-links.ts';
import { makeLink } from './links.ts';
import { mailLink } from './mails.ts';
import { normalEmail, type PeopleDeps } from './people-deps.ts';

/** The account of the first start. Its owner gives it another address. */
const FIRST = { email: 'admin@localhost', name: 'Administrator' };

export interface Inviter {
  actor: Actor;
  /** The instance key or an administrator of the instance, whose word on an address counts. */
  isInstance: boolean;
}

export interface Invitation {
  email: string;
  name: string;
  /** Null: an administrator of the instance. */
  membership: { projectId: string; role: Role } | null;
}

export interface Invited {
  person: PersonRow;
  /** Null: the person has an account already, or the link was mailed. */
  link: string | null;
}

/**
 * Gives a person a role and, where there is none, an account with an invitation. Projects do not trust each other, and an
 * address is a claim until its owner or an administrator of the instance confirms it:
 * - An administrator of a project cannot add an account that exists and whose address was never confirmed. An
 *   administrator of another project may have made it, and may have its password.
 * - The link of an account is shown to an administrator of a project only if the account was made by the same call.
 */
export async function invite(deps: PeopleDeps, by: Inviter, wanted: Invitation): Promise<Invited> {
  const projectId = wanted.membership?.projectId ?? null;
  const { person, link } = await audited(deps, { projectId, actor: by.actor }, async (tx) => {
    const email = normalEmail(wanted.email);
    const known = await findPersonByEmail(tx, email);
    if (known !== undefined) await refuseKnown(tx, known, by, wanted);
    const created = known ?? (await insertPerson(tx, deps.ids.next(), newFields(email, by, wanted)));
    const notes = known === undefined ? [changeOf('person.created', null, created)] : [];
    const given = await giveRole(tx, created, wanted, known !== undefined);
    const isNew = known === undefined || (by.isInstance && known.last_sign_in_at === null);
    const made = isNew ? await makeInvitation(tx, deps, given.person) : null;
    return {
      result: { person: given.person, link: made?.link ?? null },
      audit: [...notes, ...given.notes, ...(made?.notes ?? [])],
    };
  });
  deps.forgetCallers(person.id);
  if (link !== null) mailLink(deps, person, 'invitation', link);
  return { person, link: by.isInstance || deps.sendMail === null ? link : null };
}

function newFields(email: string, by: Inviter, { name, membership }: Invitation) {
  return { email, is_email_verified: by.isInstance, name, is_instance_admin: membership === null };
}

async function refuseKnown(
  tx: Queryable,
  person: PersonRow,
  by: Inviter,
  { membership }: Invitation,
): Promise<void> {
  const { email } = person;
  if (person.deactivated_at !== null) throw new AppError('person_deactivated', { email });
  if (!person.is_email_verified && !by.isInstance) throw new AppError('person_unverified', { email });
  const isThere =
    membership === null
      ? person.is_instance_admin
      : (await membershipsOf(tx, person.id)).some(({ project_id }) => project_id === membership.projectId);
  if (isThere) throw new AppError('name_taken', { resource: 'person', name: email });
}

async function giveRole(
  tx: Queryable,
  person: PersonRow,
  { membership }: Invitation,
  isKnown: boolean,
): Promise<{ person: PersonRow; notes: AuditNote[] }> {
  await notifyOfPerson(tx, person.id);
  if (membership === null) {
    if (!isKnown) return { person, notes: [] };
    const raised = await updatePerson(tx, person.id, { ...person, is_instance_admin: true, isActive: true });
    return { person: raised, notes: [changeOf('person.updated', person, raised)] };
  }
  const { projectId, role } = membership;
  await setMembership(tx, { project_id: projectId, person_id: person.id, role });
  const after = { email: person.email, role };
  return { person, notes: [{ action: 'person.joined', resourceId: person.id, before: null, after }] };
}

async function makeInvitation(
  tx: Queryable,
  deps: PeopleDeps,
  person: PersonRow,
): Promise<{ link: string; notes: AuditNote[] }> {
  const wanted = { purpose: 'invitation', wasMailed: deps.sendMail !== null } as const;
  return { link: await makeLink(tx, deps, person, wanted), notes: [linkMade(person, 'invitation')] };
}

export function linkMade(person: PersonRow, purpose: LinkPurpose): AuditNote {
  return { action: 'person.link_made', resourceId: person.id, before: null, after: { purpose } };
}

/**
 * A link for an account, for the holder of the instance key or an administrator of the instance. Without an address it
 * is for the first administrator, who is created if there is none.
 */
export async function makeLinkFor(
  deps: PeopleDeps,
  actor: Actor,
  wanted: { email: string | undefined; purpose: LinkPurpose; endsSecondFactor: boolean },
): Promise<Invited & { link: string }> {
  const { email, purpose, endsSecondFactor } = wanted;
  return deps.db.transaction(async (tx) => {
    const place = { ids: deps.ids, projectId: null, actor };
    const known = await (email === undefined
      ? firstAdministrator(tx)
      : findPersonByEmail(tx, normalEmail(email)).then((row) => found(row, 'person', email)));
    if (known !== undefined && known.deactivated_at !== null)
      throw new AppError('person_deactivated', { email: known.email });
    const isFirst = known === undefined;
    const fields = { ...FIRST, is_email_verified: false, is_instance_admin: true };
    const person = known ?? (await insertPerson(tx, deps.ids.next(), fields));
    if (isFirst) await insertAudit(tx, place, [changeOf('person.created', null, person)]);
    const link = await makeLink(tx, deps, person, { purpose, wasMailed: false, endsSecondFactor });
    await insertAudit(tx, place, [linkMade(person, purpose)]);
    return { person, link };
  });
}
