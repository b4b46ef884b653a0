import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import { rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { useFilters } from '../../data/search.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { FilterBar, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { TimeStyleContext } from '../../ui/text/time.tsx';
import { Groups } from './groups.tsx';

/** The failures of now, grouped by endpoint and cause. */
export function Failures() {
  const { api, id } = useProject();
  const [search, setSearch] = useFilters();
  const time = search['time'] ?? '24h';
  const range = rangeOf(time, useContext(TimeStyleContext).utc);
  const filters = {
    ...range,
    ...(search['customer'] === undefined ? {} : { ownerId: search['customer'] }),
    ...(search['type'] === undefined ? {} : { eventType: search['type'] }),
  };
  const failures = useQuery({
    queryKey: [id, 'failures', filters],
    queryFn: () => api.eventDeliveries.listFailures(filters),
    refetchInterval: 5000,
    placeholderData: (before) => before,
  });
  return (
    <PageBody>
      <PageHead title="Failures" />
      <FilterBar>
        <TimeFilter value={time} onChange={(chosen) => setSearch({ time: chosen })} />
        <FilterText
          label="Event type"
          value={search['type'] ?? ''}
          onChange={(type) => setSearch({ type })}
        />
        <FilterText
          label="Customer"
          value={search['customer'] ?? ''}
          onChange={(customer) => setSearch({ customer })}
        />
      </FilterBar>
      <QueryView query={failures} label="Looking for failures">
        {(found) =>
          found.groups.length === 0 ? (
            <EmptyState
              title="No failures"
              text="No delivery failed in this time range, and none is waiting to retry."
            />
          ) : (
            <Groups key={id} found={found} time={time} range={range} eventType={search['type']} />
          )
        }
      </QueryView>
    </PageBody>
  );
}
