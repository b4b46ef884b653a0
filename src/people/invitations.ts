import { type Actor, type AuditNote, changeOf } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import type { Role } from '../domain/role.ts';
import { audited } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import {
  insertPerson,
  lockPersonByEmail,
  membershipsOf,
  type PersonRow,
  setMembership,
  updatePerson,
} from '../store/people/people.ts';
import type { LinkPurpose } from '../store/people/sign-in-links.ts';
import { makeLink, takeOver } from './links.ts';
import { mailLink } from './mails.ts';
import { normalEmail, type PeopleDeps } from './people-deps.ts';

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
 * address is a claim until its owner or an administrator of the instance confirms it. An administrator of a project may
 * have made an account for the address of another, and may have its password:
 * - An administrator of another project cannot add an account whose address was never confirmed.
 * - The instance key and administrators of the instance confirm the address. The account is taken over for its owner,
 *   who needs the new invitation.
 * - The link of an account is shown to an administrator of a project only if the account was made by the same call.
 */
export async function invite(deps: PeopleDeps, by: Inviter, wanted: Invitation): Promise<Invited> {
  const projectId = wanted.membership?.projectId ?? null;
  const shows = by.isInstance || deps.sendMail === null;
  const { person, link } = await audited(
    deps,
    { projectId, actor: by.actor, isOfPeople: true },
    async (tx) => {
      const account = await accountFor(tx, deps, by, wanted);
      const given = await giveRole(tx, account.person, wanted);
      const made = account.needsLink ? await makeInvitation(tx, deps, given.person) : null;
      return {
        result: { person: given.person, link: made?.link ?? null },
        audit: [...account.notes, ...given.notes, ...(made?.notes ?? [])],
        ids: [given.person.id],
        secret: shows ? made?.link : null,
      };
    },
  );
  deps.forgetCallers(person.id);
  if (link !== null) mailLink(deps, person, 'invitation', link);
  return { person, link: shows ? link : null };
}

async function accountFor(
  tx: Queryable,
  deps: PeopleDeps,
  by: Inviter,
  wanted: Invitation,
): Promise<{ person: PersonRow; needsLink: boolean; notes: AuditNote[] }> {
  const email = normalEmail(wanted.email);
  const known = await lockPersonByEmail(tx, email);
  if (known === undefined) {
    const person = await insertPerson(tx, deps.ids.next(), newFields(email, by, wanted));
    return { person, needsLink: true, notes: [changeOf('person.created', null, person)] };
  }
  await refuseKnown(tx, known, by, wanted);
  if (known.is_email_verified)
    return { person: known, needsLink: by.isInstance && known.last_sign_in_at === null, notes: [] };
  const person = await takeOver(tx, known.id);
  return { person, needsLink: true, notes: [changeOf('person.updated', known, person)] };
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
): Promise<{ person: PersonRow; notes: AuditNote[] }> {
  await notifyOfPerson(tx, person.id);
  if (membership === null) {
    if (person.is_instance_admin) return { person, notes: [] };
    const raised = await updatePerson(tx, person.id, { ...person, is_instance_admin: true, isActive: true });
    return { person: raised, notes: [changeOf('person.updated', person, raised)] };
  }
  const { projectId, role } = membership;
  await setMembership(tx, { project_id: projectId, person_id: person.id, role });
  const after = { email: person.email, role };
  return { person, notes: [{ action: 'person.joined', resourceId: person.id, before: null, after }] };
}

/** Ends earlier invitations. */
export async function makeInvitation(
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
