/**
 * The rights of a person or a key in a project. Each role may do all that the roles before it may:
 * - `viewer` reads, without secrets.
 * - `developer` also changes endpoints, subscriptions, sources, filters and event types, sends events, and sees secrets.
 * - `admin` also manages people, keys, portal links and settings, and may delete the project.
 */
export const roles = ['viewer', 'developer', 'admin'] as const;
export type Role = (typeof roles)[number];

export function isAtLeast(role: Role, wanted: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(wanted);
}

/** A stored role. A value that is unknown to this version gives no right beyond reading. */
export function readRole(text: string): Role {
  return roles.find((role) => role === text) ?? 'viewer';
}
