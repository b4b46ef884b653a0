import { AppError } from '../../../domain/errors.ts';
import { isAtLeast, type Role } from '../../../domain/role.ts';
import type { ProjectRow } from '../../../store/config/projects.ts';
import type { Caller } from './caller.ts';

/**
 * The right that an operation needs of a key or a person:
 * - a role in the project of its path; administrators of the instance have all of them
 * - `any`: a caller who is known
 * - `instance`: the instance key, or an administrator of the instance
 * - `session`: a person who is signed in
 * - `public`: nothing. The operation has no caller.
 *
 * Portal links have rights of their own: `PortalRight` in operation.ts.
 */
export type Access = Role | 'any' | 'instance' | 'session' | 'public';

/** The role of a caller in a project. Null: none. Portal links have no role. */
export function roleOf(caller: Caller, projectId: string): Role | null {
  switch (caller.kind) {
    case 'instance':
      return 'admin';
    case 'project':
      return caller.projectId === projectId ? caller.role : null;
    case 'person':
      return caller.isInstanceAdmin ? 'admin' : (caller.roles[projectId] ?? null);
    case 'portal':
      return null;
  }
}

/** Throws unless the caller may use the operation. The one place where roles are checked. */
export function requireAccess(
  caller: Caller,
  access: Access,
  project: Pick<ProjectRow, 'id' | 'config'> | undefined,
): void {
  if (caller.kind === 'portal') return;
  if (caller.kind === 'person' && access !== 'session') requireSecondFactor(caller, project);
  switch (access) {
    case 'public':
    case 'any':
      return;
    case 'session':
      if (caller.kind !== 'person') throw new AppError('session_required');
      return;
    case 'instance':
      if (!isInstance(caller)) throw new AppError('instance_key_required');
      return;
    case 'viewer':
    case 'developer':
    case 'admin': {
      const own = project === undefined ? null : roleOf(caller, project.id);
      if (own === null) throw new AppError('project_forbidden', { project: project?.id ?? '' });
      if (!isAtLeast(own, access)) throw new AppError('role_required', { role: access, own });
    }
  }
}

/** Without a second factor that the instance or the project requires, a person can only use the own account. */
function requireSecondFactor(
  caller: Extract<Caller, { kind: 'person' }>,
  project: Pick<ProjectRow, 'config'> | undefined,
): void {
  const isRequired = caller.needsSecondFactor || project?.config.require_second_factor === true;
  if (isRequired && !caller.hasSecondFactor) throw new AppError('second_factor_required');
}

/** Whether the project hides its payloads from this caller. */
export function hidesPayload(caller: Caller, { id, config }: Pick<ProjectRow, 'id' | 'config'>): boolean {
  return config.hide_payload_from_viewers && roleOf(caller, id) === 'viewer';
}

/** Whether the caller may do anything in any project. */
export function isInstance(caller: Caller): boolean {
  return caller.kind === 'instance' || (caller.kind === 'person' && caller.isInstanceAdmin);
}
