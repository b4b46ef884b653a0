import type { MetaEvent } from 'posthorn-client';
import { createdColumn } from '../../dashboard/lists/list-columns.tsx';
import { TIME } from '../../dashboard/lists/list-filters.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { triesOf } from '../../data/delivery-state.ts';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import type { Column } from '../../ui/tables/columns.ts';

const columns: Column<MetaEvent>[] = [
  {
    name: 'State',
    width: '9rem',
    line: 1,
    cell: (row) => (
      <DeliveryBadge delivery={{ ...row, waiting_for: null, cancelled_at: null }} title={row.description} />
    ),
  },
  { name: 'Type', width: 'minmax(9rem, 1fr)', line: 2, cell: ({ event_type }) => event_type },
  {
    name: 'Why',
    width: 'minmax(8rem, 1.5fr)',
    from: 660,
    cell: ({ description }) => <span className="text-muted">{description || '–'}</span>,
  },
  { name: 'Attempts', width: '5rem', from: 560, right: true, cell: ({ metadata }) => triesOf(metadata) },
  createdColumn({ from: 480, line: 1 }),
];

export const MetaEventList = () => (
  <ResourceList
    title="Meta events"
    page="meta-events"
    noun="meta event"
    filters={{ time: TIME }}
    columns={columns}
    load={({ metaEvents }, query) => metaEvents.list(query)}
    name={({ event_type, uid }) => `${event_type} ${uid}`}
    empty={
      <EmptyState
        title="No meta events yet"
        text={
          <>
            A meta event tells your own system what happened here, such as an endpoint that was disabled. Turn
            them on in the <PageLink to="settings">settings</PageLink>.
          </>
        }
      />
    }
  />
);
