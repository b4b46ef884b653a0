import { useQuery } from '@tanstack/react-query';
import type { RollSigningKeyResult } from 'posthorn-client';
import { useState } from 'react';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Button, RowButton } from '../../ui/controls/button.tsx';
import { SelectField } from '../../ui/controls/fields.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { CopyIcon } from '../../ui/text/copy.tsx';
import { Time } from '../../ui/text/time.tsx';

type Key = RollSigningKeyResult;

/** The keys with which the project signs every delivery, and the URL at which receivers find their public halves. */
export function SigningKeys() {
  const { api, id } = useProject();
  const keys = useQuery({ queryKey: [id, 'signing keys'], queryFn: () => api.projects.listSigningKeys() });
  const [rolling, setRolling] = useState(false);
  const [deleting, setDeleting] = useState<Key>();
  const columns: TableColumn<Key>[] = [
    { name: 'kid', most: 'max-w-56', cell: ({ kid }) => <Copied text={kid} what="kid" /> },
    {
      name: 'Public key',
      most: 'max-w-56',
      cell: ({ public_key: key }) => <Copied text={key} what="public key" />,
    },
    { name: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
    { name: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} none="never" /> },
    {
      name: '',
      cell: (key) => (
        <May use="deleteSigningKey">
          <RowButton
            act="Delete"
            of={`signing key ${key.kid}`}
            look="danger"
            onClick={() => setDeleting(key)}
          />
        </May>
      ),
    },
  ];
  const act = keys.data?.length === 0 ? 'Add signing key' : 'Roll signing key…';
  return (
    <Section
      title="Signing keys"
      aside={
        <May use="rollSigningKey">
          <Button onClick={() => setRolling(true)}>{act}</Button>
        </May>
      }
    >
      <p className="mb-2 text-muted">
        They add an Ed25519 signature to every delivery. Receivers need no secret: they read the public keys
        at this URL.
      </p>
      <p className="mb-2">
        <Copied
          text={`${location.origin}/api/v1/projects/${id}/.well-known/jwks.json`}
          what="URL of the public keys"
        />
      </p>
      <QueryView query={keys} label="Loading signing keys" rows={1}>
        {(rows) =>
          rows.length === 0 ? (
            <p>The project has no signing key. The secrets of the endpoints sign.</p>
          ) : (
            <PlainTable label="Signing keys" rows={rows} columns={columns} rowKey={({ kid }) => kid} />
          )
        }
      </QueryView>
      {rolling && <RollKey isFirst={keys.data?.length === 0} onClose={() => setRolling(false)} />}
      {deleting !== undefined && (
        <DangerDialog
          what={`Delete signing key ${deleting.kid}`}
          act={() => api.projects.deleteSigningKey(deleting.kid)}
          onClose={() => setDeleting(undefined)}
        >
          It signs no more, and is no longer published. Receivers that know only this key refuse deliveries.
        </DangerDialog>
      )}
    </Section>
  );
}

const Copied = ({ text, what }: { text: string; what: string }) => (
  <span className="inline-flex max-w-full items-center gap-1">
    <code className="truncate font-mono text-xs" title={text}>
      {text}
    </code>
    <CopyIcon text={text} what={what} />
  </span>
);

const DAY_SECONDS = 86_400;

function RollKey({ isFirst, onClose }: { isFirst: boolean; onClose(): void }) {
  const { api } = useProject();
  const title = isFirst ? 'Add signing key' : 'Roll signing key';
  const roll = (form: FormData) => api.projects.rollSigningKey({ expiration: Number(form.get('seconds')) });
  return (
    <ActDialog title={title} action={title} onClose={onClose} onSubmit={roll}>
      <p>A new key signs every delivery from now on.</p>
      {!isFirst && (
        <SelectField
          label="The key before it signs along for"
          name="seconds"
          defaultValue={DAY_SECONDS}
          choices={[
            [String(DAY_SECONDS / 24), '1 hour'],
            [String(DAY_SECONDS), '1 day'],
            [String(7 * DAY_SECONDS), '7 days'],
            ['0', 'no time: it ends at once'],
          ]}
        />
      )}
    </ActDialog>
  );
}
