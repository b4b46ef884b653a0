import type { ListSubscriptionsQuery, Subscription } from 'posthorn-client';
import { AgentMark } from '../../dashboard/agent-mark.tsx';
import { customerColumn } from '../../dashboard/lists/list-columns.tsx';
import type { ListFilters } from '../../dashboard/lists/list-filters.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { OnOffBadge } from '../../dashboard/states.tsx';
import type { Column } from '../../ui/tables/columns.ts';
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
  customerColumn(({ endpoint_metadata: endpoint }) => endpoint?.owner_id ?? '', 780),
  { name: 'Filter', width: '4rem', from: 860, cell: (row) => (hasFilter(row) ? 'yes' : '–') },
  { name: 'Function', width: '5rem', from: 940, cell: (row) => (row.function === '' ? '–' : 'yes') },
];

const filters: ListFilters<ListSubscriptionsQuery> = {
  name: { label: 'Name', query: (name) => ({ name }) },
  endpoint: { label: 'Endpoint', control: 'endpoint', query: (uid) => ({ endpointId: [uid] }) },
};

export const SubscriptionList = () => (
  <ResourceList
    title="Subscriptions"
    page="subscriptions"
    noun="subscription"
    filters={filters}
    columns={columns}
    load={({ subscriptions }, query) => subscriptions.list(query)}
    name={({ name }) => name}
    add={{
      use: 'createSubscription',
      form: AddSubscription,
      text: 'A subscription says which event types an endpoint gets, by name and by filter.',
    }}
  />
);
