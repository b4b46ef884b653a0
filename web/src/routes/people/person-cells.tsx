import type { Person } from 'posthorn-client';
import { StateBadge, type StateLook } from '../../ui/text/state-badge.tsx';

export type Role = 'viewer' | 'developer' | 'admin';

export const ROLES: readonly (readonly [Role, string])[] = [
  ['viewer', 'Viewer: reads, without secrets'],
  ['developer', 'Developer: also changes endpoints and sends events'],
  ['admin', 'Admin: also people, keys and settings'],
];

const STATES: Readonly<Record<Person['status'], StateLook>> = {
  active: { tone: 'ok', shape: 'check', word: 'Active' },
  invited: { tone: 'run', shape: 'clock', word: 'Invited' },
  deactivated: { tone: 'off', shape: 'slash', word: 'Deactivated' },
};

export const PersonState = ({ person }: { person: Pick<Person, 'status'> }) => (
  <StateBadge look={STATES[person.status]} />
);

export function PersonName({ person }: { person: Pick<Person, 'name' | 'email'> }) {
  return (
    <span title={`${person.email} ${person.name}`}>
      {person.email} <span className="text-muted">{person.name}</span>
    </span>
  );
}
