import { useQuery } from '@tanstack/react-query';
import type { Project } from 'posthorn-client';
import { useState } from 'react';
import { KeyMade } from '../../dashboard/key-made.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { apiOf } from '../../data/session.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { ErrorPanel } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link } from '../../ui/text/link.tsx';
import { Time } from '../../ui/text/time.tsx';

const columns: TableColumn<Project>[] = [
  {
    name: 'Name',
    cell: ({ uid, name }) => (
      <Link className="link" href={`/p/${uid}/overview`}>
        {name}
      </Link>
    ),
  },
  { name: 'Kind', cell: ({ type }) => type },
  { name: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
  { name: 'ID', cell: ({ uid }) => <Id value={uid} what="project id" /> },
];

/** A cell that is away is a warning: its projects are missing. */
async function listProjects(): Promise<{ rows: Project[]; warnings: string[] }> {
  const warnings: string[] = [];
  const rows = await apiOf(undefined, (given) => warnings.push(...given)).projects.list();
  return { rows, warnings };
}

export function Projects() {
  const [adding, setAdding] = useState(false);
  const projects = useQuery({ queryKey: ['projects'], queryFn: listProjects });
  return (
    <PageBody>
      <PageHead title="Projects">
        <Button look="main" icon="plus" onClick={() => setAdding(true)}>
          Add project
        </Button>
      </PageHead>
      <QueryView query={projects} label="Loading projects">
        {({ rows, warnings }) => (
          <>
            {warnings.length > 0 && (
              <ErrorPanel title="Not every project is listed" text={warnings.join(' ')} />
            )}
            <PlainTable label="Projects" rows={rows} columns={columns} rowKey={({ uid }) => uid} />
          </>
        )}
      </QueryView>
      {adding && <AddProject onClose={() => setAdding(false)} />}
    </PageBody>
  );
}

function AddProject({ onClose }: { onClose(): void }) {
  const add = async (form: FormData) => {
    const type = formText(form, 'type') as 'outgoing' | 'incoming';
    const { api_key } = await apiOf().projects.create({ name: formText(form, 'name'), type });
    return <KeyMade title="The key of the new project" apiKey={api_key.key} onClose={onClose} />;
  };
  return (
    <ActDialog title="Add project" action="Add project" onClose={onClose} onSubmit={add}>
      <TextField label="Name" name="name" required />
      <SelectField
        label="Kind"
        name="type"
        choices={[
          ['outgoing', 'Outgoing: your own events'],
          ['incoming', 'Incoming: webhooks of others'],
        ]}
      />
    </ActDialog>
  );
}
