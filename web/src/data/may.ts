import { useParams } from '@tanstack/react-router';
import { neededRoles } from './needed-roles.ts';
import { useMe } from './project.ts';

export type Operation = keyof typeof neededRoles;

/** From the least to the most. */
const ROLES = ['viewer', 'developer', 'admin'] as const;

/**
 * Whether the reader may use an operation in the project of the address. The one place that compares roles. The server
 * checks again: this only keeps buttons and pages away from those who cannot use them.
 */
export function useMay(): (operation: Operation) => boolean {
  const { instance_admin: isAdmin, projects } = useMe();
  const { project } = useParams({ strict: false }) as { project?: string };
  const role = projects.find(({ uid }) => uid === project)?.role;
  const own = isAdmin ? ROLES.length : role === undefined ? -1 : ROLES.indexOf(role);
  return (operation) => own >= ROLES.indexOf(neededRoles[operation]);
}
