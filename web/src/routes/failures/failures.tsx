import { useQuery } from '@tanstack/react-query';
import {
  CUSTOMER,
  ListFilterBar,
  type ListFilters,
  TIME,
  useListFilters,
} from '../../dashboard/lists/list-filters.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { Groups } from './groups.tsx';

const USUAL = '24h';

const FILTERS: ListFilters<TimeRange & { ownerId?: string; eventType?: string }> = {
  time: { ...TIME, usual: USUAL },
  type: { label: 'Event type', query: (eventType) => ({ eventType }) },
  customer: CUSTOMER,
};

/** The failures of now, grouped by endpoint and cause. */
export function Failures() {
  const { api, id } = useProject();
  const filtered = useListFilters(FILTERS);
  const { search, query } = filtered;
  const { ownerId: _, eventType, ...range } = query;
  const failures = useQuery({
    queryKey: [id, 'failures', query],
    queryFn: () => api.eventDeliveries.listFailures(query),
    refetchInterval: 5000,
    placeholderData: (before) => before,
  });
  return (
    <PageBody>
      <PageHead title="Failures" />
      <ListFilterBar filtered={filtered} />
      <QueryView query={failures} label="Looking for failures">
        {(found) =>
          found.groups.length === 0 ? (
            <EmptyState
              title="No failures"
              text="No delivery failed in this time range, and none is waiting to retry."
            />
          ) : (
            <Groups
              key={id}
              found={found}
              time={search['time'] ?? USUAL}
              range={range}
              eventType={eventType}
            />
          )
        }
      </QueryView>
    </PageBody>
  );
}
