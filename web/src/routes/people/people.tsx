import { useQuery } from '@tanstack/react-query';
import type { Member } from 'posthorn-client';
import { useContext, useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useMe, useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { useAct } from '../../parts/acts.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Button, RowButton } from '../../ui/controls/button.tsx';
import { OffContext } from '../../ui/controls/off.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Time } from '../../ui/text/time.tsx';
import { Invite } from './invite.tsx';
import { PersonName, PersonState, type Role } from './person-cells.tsx';

const NO_ONE =
  'Only administrators of the instance use this project. Invite a person to give them a role in it.';

/** The people with a role in the project. */
export function People() {
  const { api, id, name } = useProject();
  const people = useQuery({ queryKey: [id, 'people'], queryFn: () => api.people.list() });
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState<Member>();
  return (
    <PageBody>
      <PageHead title="People">
        {people.data !== undefined && (
          <Button look="main" icon="plus" onClick={() => setInviting(true)}>
            Invite person
          </Button>
        )}
      </PageHead>
      <QueryView query={people} label="Loading people">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No people yet" text={NO_ONE} />
          ) : (
            <PlainTable label="People" rows={rows} columns={columns(setRemoving)} rowKey={({ uid }) => uid} />
          )
        }
      </QueryView>
      {inviting && (
        <Invite
          title={`Invite a person to ${name}`}
          project={name}
          invite={(wanted) => api.people.inviteToProject(wanted)}
          onClose={() => setInviting(false)}
        />
      )}
      {removing !== undefined && <Remove person={removing} onClose={() => setRemoving(undefined)} />}
    </PageBody>
  );
}

const columns = (remove: (person: Member) => void): TableColumn<Member>[] => [
  { name: 'Person', cell: (person) => <PersonName person={person} /> },
  { name: 'State', cell: (person) => <PersonState person={person} /> },
  { name: 'Role', cell: (person) => <RoleChoice person={person} /> },
  { name: 'Second factor', cell: ({ second_factor }) => (second_factor ? 'On' : 'Off') },
  { name: 'Last sign-in', cell: ({ last_sign_in_at }) => <Time at={last_sign_in_at} none="never" /> },
  {
    name: '',
    cell: (person) => (
      <RowButton act="Remove" of={person.email} look="danger" onClick={() => remove(person)} />
    ),
  },
];

function RoleChoice({ person: { uid, email, role } }: { person: Member }) {
  const { api } = useProject();
  const me = useMe();
  const change = useAct(
    (wanted: Role) => api.people.changeRole(uid, { role: wanted }),
    () => `The role of ${email} is changed`,
    // People who take their own rights away cannot give them back.
    email === me.person ? undefined : () => api.people.changeRole(uid, { role }),
  );
  const isOff = useContext(OffContext) !== undefined;
  return (
    <select
      aria-label={`Role of ${email}`}
      className="field h-7"
      value={change.isPending ? change.variables : role}
      disabled={change.isPending || isOff}
      onChange={(event) => change.mutate(event.target.value as Role)}
    >
      <option value="viewer">Viewer</option>
      <option value="developer">Developer</option>
      <option value="admin">Admin</option>
    </select>
  );
}

function Remove({ person, onClose }: { person: Member; onClose(): void }) {
  const { api, name } = useProject();
  const remove = async () => {
    await api.people.removeFromProject(person.uid);
  };
  return (
    <ActDialog
      title={`Remove ${person.email}`}
      action={`Remove from ${name}`}
      danger
      onClose={onClose}
      onSubmit={remove}
    >
      <p>They lose their role in {name} at once. The account stays.</p>
    </ActDialog>
  );
}
