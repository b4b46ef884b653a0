import type { Event, ListEventsQuery } from 'posthorn-client';
import { CustomerLinks } from '../../dashboard/customer-link.tsx';
import { createdColumn } from '../../dashboard/lists/list-columns.tsx';
import { CUSTOMER, type ListFilters, TIME } from '../../dashboard/lists/list-filters.tsx';
import { NoTraffic } from '../../dashboard/lists/no-traffic.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { May } from '../../dashboard/may.tsx';
import { useEndpointChoices } from '../../data/choices.ts';
import { plural } from '../../data/delivery-state.ts';
import { useFilters } from '../../data/search.ts';
import type { Column } from '../../ui/tables/columns.ts';
import { Id } from '../../ui/text/id.tsx';
import { StateBadge } from '../../ui/text/state-badge.tsx';
import { Replay } from './replay-dialog.tsx';

const NOTHING = { tone: 'off', shape: 'ring', word: 'Matched nothing' } as const;

const columns: Column<Event>[] = [
  createdColumn({ name: 'Received', line: 2 }),
  { name: 'Type', width: 'minmax(8rem, 1fr)', line: 1, cell: ({ event_type }) => event_type },
  { name: 'Went to', width: 'minmax(8rem, 1fr)', line: 2, cell: (event) => <WentTo event={event} /> },
  {
    name: 'Customer',
    width: 'minmax(6rem, 12rem)',
    from: 700,
    cell: ({ owner_ids }) => <Customers owners={owner_ids} />,
  },
  {
    name: 'Idempotency key',
    width: 'minmax(7rem, 12rem)',
    from: 1040,
    cell: ({ idempotency_key }) => <span className="font-mono text-xs">{idempotency_key || '–'}</span>,
  },
  { name: 'Source', width: '8rem', from: 860, cell: ({ source_metadata }) => source_metadata?.name ?? 'API' },
  { name: 'ID', width: '7.5rem', from: 560, cell: ({ uid }) => <Id value={uid} copy={false} /> },
];

function Customers({ owners }: { owners: readonly string[] }) {
  const [search] = useFilters();
  return <CustomerLinks owners={owners} most={1} wanted={search['customer']} />;
}

function WentTo({ event }: { event: Event }) {
  const { endpoints } = useEndpointChoices();
  if (event.is_duplicate_event) return <span className="text-muted">Duplicate, not sent</span>;
  if (event.endpoints.length === 0) return <StateBadge look={NOTHING} />;
  const only = event.endpoints.length === 1 ? event.endpoints[0] : undefined;
  const name = endpoints.find(({ uid }) => uid === only)?.name;
  return name ?? plural(event.endpoints.length, 'endpoint');
}

const filters: ListFilters<ListEventsQuery> = {
  time: TIME,
  text: { label: 'Text in payload', isWide: true, query: (query) => ({ query }) },
  key: { label: 'Idempotency key', query: (idempotencyKey) => ({ idempotencyKey }) },
  source: { label: 'Source', control: 'source', query: (uid) => ({ sourceId: [uid] }) },
  endpoint: { label: 'Endpoint', control: 'endpoint', query: (uid) => ({ endpointId: [uid] }) },
  customer: CUSTOMER,
  matched: {
    label: 'Matched',
    choices: [
      ['', 'Matched or not'],
      ['nothing', 'Matched nothing'],
    ],
    query: () => ({ unmatched: true }),
  },
  due: {
    label: 'Delivery time',
    choices: [
      ['', 'Delayed or not'],
      ['later', 'Delayed'],
    ],
    query: () => ({ delayed: true }),
  },
};

export const EventList = () => (
  <ResourceList
    title="Events"
    page="events"
    noun="event"
    filters={filters}
    hasViews
    columns={columns}
    load={({ events }, query) => events.list(query)}
    news="event"
    name={(event) => `${event.event_type}, ${event.uid}`}
    acts={(query) => (
      <May use="batchReplayEvents">
        <Replay filters={query} />
      </May>
    )}
    empty={<NoTraffic title="No events yet" text="Events appear here as they are accepted." />}
  />
);
