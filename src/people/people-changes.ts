import { type Actor, changeOf } from '../domain/audit.ts';
import { AppError, found } from '../domain/errors.ts';
import type { Role } from '../domain/role.ts';
import { audited } from '../store/audit/audit-entries.ts';
import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { isUniqueViolation } from '../store/database/pg-errors.ts';
import {
  getMembership,
  lockPerson,
  type PersonRow,
  removeMembership,
  setMembership,
  updatePerson,
} from '../store/people/people.ts';
import { endSessions } from '../store/people/sessions.ts';
import { removeLinks } from '../store/people/sign-in-links.ts';
import { type Invited, makeInvitation } from './invitations.ts';
import { takeOver } from './links.ts';
import { mailChange, mailLink } from './mails.ts';
import { endingRights, normalEmail, type PeopleDeps } from './people-deps.ts';

export interface AccountChange {
  email?: string | undefined;
  name?: string | undefined;
  isInstanceAdmin?: boolean | undefined;
  isActive?: boolean | undefined;
}

/**
 * A change of an account by the instance key or an administrator of the instance. Deactivation ends every session and
 * link. An account is taken over for the owner of its address, with a new invitation:
 * - If it becomes an administrator of the instance and its address was never confirmed.
 * - If it gets another address. Only the own account keeps its credentials then, because it keeps its holder.
 */
export async function changeAccount(
  deps: PeopleDeps,
  { actor, id }: { actor: Actor; id: string },
  wanted: AccountChange,
): Promise<Invited> {
  const { before, person, link } = await endingRights(deps, id, () =>
    audited(deps, { projectId: null, actor }, async (tx) => {
      const before = found(await lockPerson(tx, id), 'person', id, '');
      const fields = accountFields(before, wanted);
      const isTaken = isTakenOver(before, fields, actor);
      const { is_email_verified } = isTaken ? await takeOver(tx, id) : before;
      const person = await refusingTakenEmail(fields.email, () =>
        updatePerson(tx, id, { ...fields, is_email_verified }),
      );
      // A link that was mailed to the earlier address must not open the account of the new one.
      if (!fields.isActive || person.email !== before.email) await removeLinks(tx, id);
      if (!fields.isActive) await endSessions(tx, id);
      await notifyOfPerson(tx, id);
      const made = isTaken && fields.isActive ? await makeInvitation(tx, deps, person) : null;
      return {
        result: { before, person, link: made?.link ?? null },
        audit: [changeOf('person.updated', before, person), ...(made?.notes ?? [])],
      };
    }),
  );
  if (person.email !== before.email) mailChange(deps, before.email, 'email');
  if (link !== null) mailLink(deps, person, 'invitation', link);
  return { person, link };
}

function accountFields(before: PersonRow, wanted: AccountChange) {
  return {
    email: wanted.email === undefined ? before.email : normalEmail(wanted.email),
    name: wanted.name ?? before.name,
    is_instance_admin: wanted.isInstanceAdmin ?? before.is_instance_admin,
    isActive: wanted.isActive ?? before.deactivated_at === null,
  };
}

function isTakenOver(
  before: PersonRow,
  { email, is_instance_admin }: ReturnType<typeof accountFields>,
  actor: Actor,
): boolean {
  const isOwn = actor.type === 'person' && actor.id === before.id;
  const isRaised = is_instance_admin && !before.is_instance_admin;
  return (email !== before.email && !isOwn) || (isRaised && !before.is_email_verified);
}

async function refusingTakenEmail<T>(email: string, save: () => Promise<T>): Promise<T> {
  try {
    return await save();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new AppError('name_taken', { resource: 'person', name: email }, { cause: error });
  }
}

interface InProject {
  projectId: string;
  actor: Actor;
  personId: string;
}

/** `role` undefined: as it is. */
export function changeRole(deps: PeopleDeps, by: InProject, role: Role | undefined): Promise<PersonRow> {
  return inProject(deps, by, async (tx, person, before) => {
    if (role === undefined || role === before) return { result: person, audit: [] };
    await setMembership(tx, { project_id: by.projectId, person_id: person.id, role });
    const note = { action: 'person.role_changed', resourceId: person.id } as const;
    return { result: person, audit: [{ ...note, before: { role: before }, after: { role } }] };
  });
}

export function removeFromProject(deps: PeopleDeps, by: InProject): Promise<null> {
  return inProject(deps, by, async (tx, person, role) => {
    await removeMembership(tx, by.projectId, person.id);
    const before = { email: person.email, role };
    return {
      result: null,
      audit: [{ action: 'person.left', resourceId: person.id, before, after: null }],
    };
  });
}

function inProject<T>(
  deps: PeopleDeps,
  { projectId, actor, personId }: InProject,
  change: (tx: Queryable, person: PersonRow, role: Role) => ReturnType<Parameters<typeof audited<T>>[2]>,
): Promise<T> {
  return endingRights(deps, personId, () =>
    audited(deps, { projectId, actor, isOfPeople: true }, async (tx) => {
      const person = found(await lockPerson(tx, personId), 'person', personId);
      const role = found(await getMembership(tx, projectId, personId), 'person', personId);
      await notifyOfPerson(tx, personId);
      return change(tx, person, role);
    }),
  );
}
