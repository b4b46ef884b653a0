import type { Subscription } from 'posthorn-client';
import { useState } from 'react';
import { AgentMark } from '../../dashboard/agent-mark.tsx';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { EmptyList } from '../../dashboard/lists/empty-list.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { EndpointFilter } from '../../dashboard/lists/resource-filter.tsx';
import { May } from '../../dashboard/may.tsx';
import { OnOffBadge } from '../../dashboard/states.tsx';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { cleared, useFilters } from '../../data/search.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FilterBar, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { withSearch } from '../../ui/text/link.tsx';
import { hasFilter } from './filter-text.ts';
import { AddSubscription } from './subscription-dialogs.tsx';

const columns: Column<Subscription>[] = [
  { name: 'Name', width: 'minmax(8rem, 1fr)', line: 1, cell: ({ name }) => name },
  { name: 'State', width: '6rem', line: 1, cell: ({ status }) => <OnOffBadge on={status === 'active'} /> },
  {
    name: 'Event types',
    width: 'minmax(7rem, 1fr)',
    from: 420,
    line: 2,
    cell: ({ filter_config }) => filter_config.event_types.join(', '),
  },
  {
    name: 'Endpoint',
    width: 'minmax(7rem, 1fr)',
    from: 640,
    line: 2,
    cell: ({ endpoint_metadata: endpoint, device_metadata: device }) => (
      <>
        {endpoint?.name ?? device?.host_name ?? '–'}
        <AgentMark of={endpoint} />
      </>
    ),
  },
  {
    name: 'Customer',
    width: 'minmax(5rem, 9rem)',
    from: 780,
    cell: ({ endpoint_metadata: endpoint }) => <CustomerLink owner={endpoint?.owner_id ?? ''} />,
  },
  { name: 'Filter', width: '4rem', from: 860, cell: (row) => (hasFilter(row) ? 'yes' : '–') },
  { name: 'Function', width: '5rem', from: 940, cell: (row) => (row.function === '' ? '–' : 'yes') },
];

export function SubscriptionList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const [adding, setAdding] = useState(false);
  const filters = {
    ...(search['name'] === undefined ? {} : { name: search['name'] }),
    ...(search['endpoint'] === undefined ? {} : { endpointId: [search['endpoint']] }),
  };
  const rows = useRows<Subscription>({
    key: [id, 'subscriptions', filters],
    load: (page) => api.subscriptions.list({ ...filters, ...page }).page(),
    live: true,
  });
  const add = (
    <May use="createSubscription">
      <Button look="main" icon="plus" onClick={() => setAdding(true)}>
        Add subscription
      </Button>
    </May>
  );
  return (
    <ListLayout>
      <PageHead title="Subscriptions">{add}</PageHead>
      <FilterBar>
        <FilterText label="Name" value={search['name'] ?? ''} onChange={(name) => setSearch({ name })} />
        <EndpointFilter value={search['endpoint'] ?? ''} onChange={(endpoint) => setSearch({ endpoint })} />
      </FilterBar>
      <LiveList
        label="Subscriptions"
        noun="subscription"
        rows={rows}
        columns={columns}
        href={({ uid }) => withSearch(at(`subscriptions/${uid}`), search)}
        name={({ name }) => name}
        empty={
          <EmptyList
            noun="subscription"
            text="A subscription says which event types an endpoint gets, by name and by filter."
            isFiltered={Object.keys(filters).length > 0}
            onClear={() => setSearch(cleared(search))}
            use="createSubscription"
            add={add}
          />
        }
      />
      {adding && <AddSubscription onClose={() => setAdding(false)} />}
    </ListLayout>
  );
}
