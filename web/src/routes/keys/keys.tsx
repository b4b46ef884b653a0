import { useQuery } from '@tanstack/react-query';
import type { ApiKey } from 'posthorn-client';
import { useState } from 'react';
import { KeyMade } from '../../dashboard/key-made.tsx';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Button, RowButton } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Time } from '../../ui/text/time.tsx';

const ROLES = [
  ['admin', 'Admin: everything in this project'],
  ['developer', 'Developer: changes endpoints and sends events'],
  ['viewer', 'Viewer: reads, without secrets'],
] as const;

export function Keys() {
  const { api, id } = useProject();
  const keys = useQuery({ queryKey: [id, 'keys'], queryFn: () => api.keys.list() });
  const [adding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  const columns: TableColumn<ApiKey>[] = [
    { name: 'Name', cell: ({ name }) => name },
    { name: 'Begins with', cell: ({ mask }) => <code className="font-mono text-xs">{mask}</code> },
    { name: 'Role', cell: ({ role }) => role.type.replaceAll('_', ' ') },
    { name: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} none="never" /> },
    { name: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} none="never" /> },
    {
      name: '',
      cell: (key) => <RowButton act="Revoke" of={key.name} look="danger" onClick={() => setRevoking(key)} />,
    },
  ];
  return (
    <PageBody>
      <PageHead title="API keys">
        <May use="createKey">
          <Button look="main" icon="plus" onClick={() => setAdding(true)}>
            Add key
          </Button>
        </May>
      </PageHead>
      <QueryView query={keys} label="Loading keys">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No keys" text="A key lets a program call the API of this project." />
          ) : (
            <PlainTable label="API keys" rows={rows} columns={columns} rowKey={({ uid }) => uid} />
          )
        }
      </QueryView>
      {adding && <AddKey onClose={() => setAdding(false)} />}
      {revoking !== undefined && (
        <DangerDialog
          what={`Revoke ${revoking.name}`}
          act={() => api.keys.revoke(revoking.uid)}
          onClose={() => setRevoking(undefined)}
        >
          Programs that use this key are refused from now on.
        </DangerDialog>
      )}
    </PageBody>
  );
}

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

function AddKey({ onClose }: { onClose(): void }) {
  const { api } = useProject();
  const add = async (form: FormData) => {
    const days = Number(formText(form, 'days'));
    const role = formText(form, 'role') as (typeof ROLES)[number][0];
    const { key } = await api.keys.create({
      name: formText(form, 'name'),
      role,
      ...(days > 0 ? { expires_at: inDays(days) } : {}),
    });
    return <KeyMade title="Your new key" apiKey={key} onClose={onClose} />;
  };
  return (
    <ActDialog title="Add key" action="Add key" onClose={onClose} onSubmit={add}>
      <TextField label="Name" name="name" required />
      <SelectField label="Role" name="role" choices={ROLES} />
      <TextField
        label="Expires in (days)"
        name="days"
        type="number"
        min="0"
        hint="Optional. Defaults to never."
      />
    </ActDialog>
  );
}
