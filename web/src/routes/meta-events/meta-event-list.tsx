import type { MetaEvent } from 'posthorn-client';
import { useContext } from 'react';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { triesOf } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { useFilters } from '../../data/search.ts';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { FilterBar } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { Time, TimeStyleContext } from '../../ui/text/time.tsx';

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
  {
    name: 'Attempts',
    width: '5rem',
    from: 560,
    right: true,
    cell: ({ metadata }) => triesOf(metadata),
  },
  {
    name: 'Created',
    width: '6.5rem',
    from: 480,
    isTime: true,
    line: 1,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

export function MetaEventList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const range = rangeOf(search['time'], useContext(TimeStyleContext).utc);
  const rows = useRows<MetaEvent>({
    key: [id, 'meta-events', range],
    load: (page) => api.metaEvents.list({ ...range, ...page }).page(),
    live: true,
  });
  return (
    <ListLayout>
      <PageHead title="Meta events" />
      <FilterBar>
        <TimeFilter value={search['time'] ?? ''} onChange={(time) => setSearch({ time })} />
      </FilterBar>
      <LiveList
        label="Meta events"
        noun="meta event"
        rows={rows}
        columns={columns}
        href={({ uid }) => withSearch(at(`meta-events/${uid}`), search)}
        name={({ event_type, uid }) => `${event_type} ${uid}`}
        empty={
          <EmptyState
            title="No meta events yet"
            text={
              <>
                A meta event tells your own system what happened here, such as an endpoint that was disabled.
                Turn them on in the{' '}
                <Link className="link" href={at('settings')}>
                  settings
                </Link>
                .
              </>
            }
          />
        }
      />
    </ListLayout>
  );
}
