import { type Actor, changeOf } from '../domain/audit.ts';
import { AppError, found } from '../domain/errors.ts';
import type { Role } from '../domain/role.ts';
import { audited } from '../store/config/audit-entries.ts';
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
import { mailChange } from './mails.ts';
import { endingRights, normalEmail, type PeopleDeps } from './people-deps.ts';

export interface AccountChange {
  email?: string | undefined;
  name?: string | undefined;
  isInstanceAdmin?: boolean | undefined;
  isActive?: boolean | undefined;
}

/** A change of an account. Deactivation ends every session and link. An administrator's word confirms a new address. */
export async function changeAccount(
  deps: PeopleDeps,
  { actor, id }: { actor: Actor; id: string },
  wanted: AccountChange,
): Promise<PersonRow> {
  const { before, after } = await endingRights(deps, id, () =>
    audited(deps, { projectId: null, actor }, async (tx) => {
      const person = found(await lockPerson(tx, id), 'person', id);
      const isActive = wanted.isActive ?? person.deactivated_at === null;
      const email = wanted.email === undefined ? person.email : normalEmail(wanted.email);
      const result = await refusingTakenEmail(email, () =>
        updatePerson(tx, id, {
          email,
          is_email_verified: person.is_email_verified || wanted.email !== undefined,
          name: wanted.name ?? person.name,
          is_instance_admin: wanted.isInstanceAdmin ?? person.is_instance_admin,
          isActive,
        }),
      );
      // A link that was mailed to the earlier address must not confirm the new one.
      if (!isActive || email !== person.email) await removeLinks(tx, id);
      if (!isActive) await endSessions(tx, id);
      await notifyOfPerson(tx, id);
      return {
        result: { before: person, after: result },
        audit: [changeOf('person.updated', person, result)],
      };
    }),
  );
  if (after.email !== before.email) mailChange(deps, before.email, 'email');
  return after;
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
    audited(deps, { projectId, actor }, async (tx) => {
      const person = found(await lockPerson(tx, personId), 'person', personId);
      const role = found(await getMembership(tx, projectId, personId), 'person', personId);
      await notifyOfPerson(tx, personId);
      return change(tx, person, role);
    }),
  );
}
