import type { EventDelivery } from 'posthorn-client';
import { useContext, useState } from 'react';
import { BulkDialog } from '../../dashboard/bulk-dialog.tsx';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { LiveSwitch } from '../../dashboard/lists/live-switch.tsx';
import { NoTraffic } from '../../dashboard/lists/no-traffic.tsx';
import { EndpointFilter } from '../../dashboard/lists/resource-filter.tsx';
import { SavedViews } from '../../dashboard/lists/saved-views.tsx';
import { rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { customerOf, deliveryState, receiverOf, triesOf } from '../../data/delivery-state.ts';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { cleared, type Search, useFilters } from '../../data/search.ts';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { Id } from '../../ui/text/id.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { Time, TimeStyleContext } from '../../ui/text/time.tsx';
import { ChosenBar, useChosen } from './chosen-bar.tsx';
import { deliveryFilters, HELD_CHOICES, STATE_CHOICES } from './queries.ts';

const columns: Column<EventDelivery>[] = [
  {
    name: 'State',
    width: '9rem',
    line: 1,
    cell: (delivery) => <DeliveryBadge delivery={delivery} title={delivery.description} />,
  },
  { name: 'Event type', width: 'minmax(6rem, 1fr)', line: 2, cell: ({ event_type }) => event_type },
  {
    name: 'Endpoint',
    width: 'minmax(6rem, 1fr)',
    from: 404,
    line: 2,
    cell: receiverOf,
  },
  {
    name: 'Customer',
    width: 'minmax(5rem, 9rem)',
    from: 780,
    cell: (delivery) => <CustomerLink owner={customerOf(delivery)} />,
  },
  {
    name: 'Why',
    width: 'minmax(8rem, 1.5fr)',
    from: 1040,
    cell: (delivery) => (
      <span className="text-muted" title={delivery.description}>
        {delivery.description || '–'}
      </span>
    ),
  },
  {
    name: 'Attempts',
    width: '5rem',
    from: 660,
    right: true,
    cell: ({ metadata }) => triesOf(metadata),
  },
  {
    name: 'Created',
    width: '6.5rem',
    from: 560,
    isTime: true,
    line: 1,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  { name: 'ID', width: '7.5rem', from: 1180, cell: ({ uid }) => <Id value={uid} copy={false} /> },
];

export function DeliveryList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const { utc } = useContext(TimeStyleContext);
  const [live, setLive] = useState(true);
  const [bulk, setBulk] = useState<'retry' | 'cancel'>();
  const selection = useChosen();
  const mayRetry = useMay()('batchRetryEventDeliveries');
  const filters = deliveryFilters(search, rangeOf(search['time'], utc));
  const rows = useRows<EventDelivery>({
    key: [id, 'deliveries', filters],
    load: (page) => api.eventDeliveries.list({ ...filters, ...page }).page(),
    live,
    news: 'event_delivery',
  });
  return (
    <ListLayout>
      <PageHead title="Deliveries">
        <LiveSwitch live={live} onChange={setLive} />
        {mayRetry && (
          <>
            <Button onClick={() => setBulk('cancel')}>Cancel…</Button>
            <Button icon="again" onClick={() => setBulk('retry')}>
              Retry…
            </Button>
          </>
        )}
      </PageHead>
      <DeliveryFilterBar search={search} setSearch={setSearch} />
      <ChosenBar selection={selection} rows={rows.rows} />
      <LiveList
        label="Deliveries"
        noun="delivery"
        rows={rows}
        columns={columns}
        selection={mayRetry ? selection : undefined}
        href={({ uid }) => withSearch(at(`deliveries/${uid}`), search)}
        name={(delivery) => `${deliveryState(delivery)}: ${delivery.event_type} to ${receiverOf(delivery)}`}
        empty={
          <NoTraffic
            noun="delivery"
            title="No deliveries yet"
            text="A delivery is one event on its way to one endpoint. It needs an endpoint with a subscription that matches, and an event."
            isFiltered={Object.keys(search).length > 0}
            onClear={() => setSearch(cleared(search))}
          />
        }
      />
      {bulk !== undefined && (
        <BulkDialog
          kind={bulk}
          filters={filters}
          chosenBy="The filters match"
          onClose={() => setBulk(undefined)}
        />
      )}
    </ListLayout>
  );
}

function DeliveryFilterBar({ search, setSearch }: { search: Search; setSearch(patch: Search): void }) {
  return (
    <FilterBar set={Object.keys(search).length}>
      <TimeFilter value={search['time'] ?? ''} onChange={(time) => setSearch({ time })} />
      <FilterSelect
        label="State"
        value={search['state'] ?? ''}
        onChange={(state) => setSearch({ state })}
        choices={STATE_CHOICES}
      />
      <EndpointFilter value={search['endpoint'] ?? ''} onChange={(endpoint) => setSearch({ endpoint })} />
      <FilterSelect
        label="Held"
        value={search['held'] ?? ''}
        onChange={(held) => setSearch({ held })}
        choices={HELD_CHOICES}
      />
      <FilterText label="Event type" value={search['type'] ?? ''} onChange={(type) => setSearch({ type })} />
      <FilterText label="Text" value={search['text'] ?? ''} onChange={(text) => setSearch({ text })} />
      <FilterText
        label="Outcome (http_503)"
        value={search['outcome'] ?? ''}
        onChange={(outcome) => setSearch({ outcome })}
      />
      <FilterText
        label="Customer"
        value={search['customer'] ?? ''}
        onChange={(customer) => setSearch({ customer })}
      />
      <SavedViews page="deliveries" />
    </FilterBar>
  );
}
