import type { EventDelivery } from 'posthorn-client';
import { useState } from 'react';
import { BulkDialog, type BulkFilters } from '../../dashboard/bulk-dialog.tsx';
import { createdColumn, customerColumn } from '../../dashboard/lists/list-columns.tsx';
import { NoTraffic } from '../../dashboard/lists/no-traffic.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { customerOf, deliveryState, receiverOf, triesOf } from '../../data/delivery-state.ts';
import { useMay } from '../../data/may.ts';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { Button } from '../../ui/controls/button.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { Id } from '../../ui/text/id.tsx';
import { ChosenBar, useChosen } from './chosen-bar.tsx';
import { deliveryFilters } from './delivery-filters.ts';

const columns: Column<EventDelivery>[] = [
  {
    name: 'State',
    width: '9rem',
    line: 1,
    cell: (delivery) => <DeliveryBadge delivery={delivery} title={delivery.description} />,
  },
  { name: 'Event type', width: 'minmax(6rem, 1fr)', line: 2, cell: ({ event_type }) => event_type },
  { name: 'Endpoint', width: 'minmax(6rem, 1fr)', from: 404, line: 2, cell: receiverOf },
  customerColumn(customerOf, 780),
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
  { name: 'Attempts', width: '5rem', from: 660, right: true, cell: ({ metadata }) => triesOf(metadata) },
  createdColumn({ from: 560, line: 1 }),
  { name: 'ID', width: '7.5rem', from: 1180, cell: ({ uid }) => <Id value={uid} copy={false} /> },
];

export function DeliveryList() {
  const selection = useChosen();
  const mayRetry = useMay()('batchRetryEventDeliveries');
  return (
    <ResourceList
      title="Deliveries"
      page="deliveries"
      noun="delivery"
      filters={deliveryFilters}
      hasViews
      columns={columns}
      load={({ eventDeliveries }, query) => eventDeliveries.list(query)}
      news="event_delivery"
      name={(delivery) => `${deliveryState(delivery)}: ${delivery.event_type} to ${receiverOf(delivery)}`}
      acts={(filters) => mayRetry && <BulkActs filters={filters} />}
      selection={mayRetry ? selection : undefined}
      chosen={(rows) => <ChosenBar selection={selection} rows={rows} />}
      empty={
        <NoTraffic
          title="No deliveries yet"
          text="A delivery is one event on its way to one endpoint. It needs an endpoint with a subscription that matches, and an event."
        />
      }
    />
  );
}

/** Acts on everything that the filters match. */
function BulkActs({ filters }: { filters: BulkFilters }) {
  const [kind, setKind] = useState<'retry' | 'cancel'>();
  return (
    <>
      <Button onClick={() => setKind('cancel')}>Cancel…</Button>
      <Button icon="again" onClick={() => setKind('retry')}>
        Retry…
      </Button>
      {kind !== undefined && (
        <BulkDialog {...{ kind, filters }} chosenBy="The filters match" onClose={() => setKind(undefined)} />
      )}
    </>
  );
}
