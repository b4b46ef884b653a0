import type { ListSourcesQuery, Source } from 'posthorn-client';
import { callCommand } from '../../dashboard/commands.ts';
import { createdColumn } from '../../dashboard/lists/list-columns.tsx';
import type { ListFilters } from '../../dashboard/lists/list-filters.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { useProject } from '../../data/project.ts';
import type { Column } from '../../ui/tables/columns.ts';
import { AddSource } from './source-dialogs.tsx';
import { SOURCE_KINDS, SourceBadge } from './source-state.tsx';

const columns: Column<Source>[] = [
  { name: 'Name', width: 'minmax(8rem, 1fr)', line: 1, cell: ({ name }) => name },
  { name: 'State', width: '7rem', line: 1, cell: (source) => <SourceBadge source={source} /> },
  {
    name: 'Kind',
    width: '9rem',
    from: 440,
    line: 2,
    cell: ({ type, provider, pub_sub }) => provider || pub_sub.type || SOURCE_KINDS[type],
  },
  {
    name: 'URL',
    width: 'minmax(9rem, 1.5fr)',
    from: 760,
    cell: ({ url }) => <span className="text-muted">{url || '–'}</span>,
  },
  { name: 'Lag', width: '5rem', from: 640, right: true, cell: ({ status }) => status?.lag ?? '–' },
  createdColumn({ from: 900 }),
];

const filters: ListFilters<ListSourcesQuery> = {
  name: { label: 'Name', query: (q) => ({ q }) },
  kind: {
    label: 'Kind',
    choices: [['', 'Any kind'], ...Object.entries(SOURCE_KINDS)],
    query: (type) => ({ type: type as Source['type'] }),
  },
};

export function SourceList() {
  const { id } = useProject();
  return (
    <ResourceList
      title="Sources"
      page="sources"
      noun="source"
      filters={filters}
      columns={columns}
      load={({ sources }, query) => sources.list(query)}
      name={({ name }) => name}
      add={{
        use: 'createSource',
        form: AddSource,
        text: 'A source receives webhooks of other services, or messages of a broker, and turns them into events.',
        command: callCommand(id, 'sources', { name: 'incoming', type: 'http', verifier: { type: 'noop' } }),
      }}
    />
  );
}
