import type { Event } from 'posthorn-client';
import { useContext, useState } from 'react';
import { CustomerLinks } from '../../dashboard/customer-link.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { LiveSwitch } from '../../dashboard/lists/live-switch.tsx';
import { NoTraffic } from '../../dashboard/lists/no-traffic.tsx';
import { EndpointFilter, SourceFilter } from '../../dashboard/lists/resource-filter.tsx';
import { SavedViews } from '../../dashboard/lists/saved-views.tsx';
import { rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { May } from '../../dashboard/may.tsx';
import { useEndpointChoices } from '../../data/choices.ts';
import { plural } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { cleared, useFilters } from '../../data/search.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { Id } from '../../ui/text/id.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { StateBadge } from '../../ui/text/state-badge.tsx';
import { Time, TimeStyleContext } from '../../ui/text/time.tsx';
import { eventFilters } from './queries.ts';
import { ReplayDialog } from './replay-dialog.tsx';

const NOTHING = { tone: 'off', shape: 'ring', word: 'Matched nothing' } as const;

const columns: Column<Event>[] = [
  {
    name: 'Received',
    width: '6.5rem',
    isTime: true,
    line: 2,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
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

const DUE_CHOICES = [
  ['', 'Delayed or not'],
  ['later', 'Delayed'],
] as const;

const DueFilter = (of: { value: string; onChange(value: string): void }) => (
  <FilterSelect label="Delivery time" choices={DUE_CHOICES} {...of} />
);

export function EventList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const { utc } = useContext(TimeStyleContext);
  const [live, setLive] = useState(true);
  const [replaying, setReplaying] = useState(false);
  const filters = eventFilters(search, rangeOf(search['time'], utc));
  const rows = useRows<Event>({
    key: [id, 'events', filters],
    load: (page) => api.events.list({ ...filters, ...page }).page(),
    live,
    news: 'event',
  });
  return (
    <ListLayout>
      <PageHead title="Events">
        <LiveSwitch live={live} onChange={setLive} />
        <May use="batchReplayEvents">
          <Button icon="again" onClick={() => setReplaying(true)}>
            Replay…
          </Button>
        </May>
      </PageHead>
      <FilterBar set={Object.keys(search).length}>
        <TimeFilter value={search['time'] ?? ''} onChange={(time) => setSearch({ time })} />
        <FilterText
          label="Text in payload"
          value={search['text'] ?? ''}
          onChange={(text) => setSearch({ text })}
          wide
        />
        <FilterText
          label="Idempotency key"
          value={search['key'] ?? ''}
          onChange={(key) => setSearch({ key })}
        />
        <SourceFilter value={search['source'] ?? ''} onChange={(source) => setSearch({ source })} />
        <EndpointFilter value={search['endpoint'] ?? ''} onChange={(endpoint) => setSearch({ endpoint })} />
        <FilterText
          label="Customer"
          value={search['customer'] ?? ''}
          onChange={(customer) => setSearch({ customer })}
        />
        <FilterSelect
          label="Matched"
          value={search['matched'] ?? ''}
          onChange={(matched) => setSearch({ matched })}
          choices={[
            ['', 'Matched or not'],
            ['nothing', 'Matched nothing'],
          ]}
        />
        <DueFilter value={search['due'] ?? ''} onChange={(due) => setSearch({ due })} />
        <SavedViews page="events" />
      </FilterBar>
      <LiveList
        label="Events"
        noun="event"
        rows={rows}
        columns={columns}
        href={({ uid }) => withSearch(at(`events/${uid}`), search)}
        name={(event) => `${event.event_type}, ${event.uid}`}
        empty={
          <NoTraffic
            noun="event"
            title="No events yet"
            text="Events appear here as they are accepted."
            isFiltered={Object.keys(search).length > 0}
            onClear={() => setSearch(cleared(search))}
          />
        }
      />
      {replaying && <ReplayDialog filters={filters} onClose={() => setReplaying(false)} />}
    </ListLayout>
  );
}
