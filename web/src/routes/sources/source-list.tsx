import type { Source } from 'posthorn-client';
import { useState } from 'react';
import { createCommand } from '../../dashboard/commands.ts';
import { EmptyList } from '../../dashboard/lists/empty-list.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { cleared, useFilters } from '../../data/search.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { withSearch } from '../../ui/text/link.tsx';
import { Time } from '../../ui/text/time.tsx';
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
  {
    name: 'Created',
    width: '6.5rem',
    from: 900,
    isTime: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

type Kind = Source['type'];

export function SourceList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const [adding, setAdding] = useState(false);
  const filters = {
    ...(search['name'] === undefined ? {} : { q: search['name'] }),
    ...(search['kind'] === undefined ? {} : { type: search['kind'] as Kind }),
  };
  const rows = useRows<Source>({
    key: [id, 'sources', filters],
    load: (page) => api.sources.list({ ...filters, ...page }).page(),
    live: true,
  });
  const add = (
    <May use="createSource">
      <Button look="main" icon="plus" onClick={() => setAdding(true)}>
        Add source
      </Button>
    </May>
  );
  return (
    <ListLayout>
      <PageHead title="Sources">{add}</PageHead>
      <FilterBar>
        <FilterText label="Name" value={search['name'] ?? ''} onChange={(name) => setSearch({ name })} />
        <FilterSelect
          label="Kind"
          value={search['kind'] ?? ''}
          onChange={(kind) => setSearch({ kind })}
          choices={[['', 'Any kind'], ...Object.entries(SOURCE_KINDS)]}
        />
      </FilterBar>
      <LiveList
        label="Sources"
        noun="source"
        rows={rows}
        columns={columns}
        href={({ uid }) => withSearch(at(`sources/${uid}`), search)}
        name={({ name }) => name}
        empty={
          <EmptyList
            noun="source"
            text="A source receives webhooks of other services, or messages of a broker, and turns them into events."
            isFiltered={Object.keys(filters).length > 0}
            onClear={() => setSearch(cleared(search))}
            use="createSource"
            add={add}
            command={createCommand(id, 'sources', {
              name: 'incoming',
              type: 'http',
              verifier: { type: 'noop' },
            })}
          />
        }
      />
      {adding && <AddSource onClose={() => setAdding(false)} />}
    </ListLayout>
  );
}
