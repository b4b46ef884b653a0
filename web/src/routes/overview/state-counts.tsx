import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { DeliveryStateBadge } from '../../parts/badges.tsx';
import { Figures } from '../../parts/figures.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';

const SHOWN = [
  ['Success', 'delivered'],
  ['Failure', 'failed'],
  ['Retry', 'retrying'],
  ['Scheduled', 'scheduled'],
  ['Processing', 'in flight'],
  ['Discarded', 'discarded'],
] as const;

/** How many deliveries of the time are in each state. */
export function StateCounts({ time, range }: { time: string; range: TimeRange }) {
  const { api, id, at } = useProject();
  const totals = useQuery({
    queryKey: [id, 'overview', 'totals', time],
    queryFn: () => api.dashboard.getStatusTotals(range),
    refetchInterval: 3000,
  });
  return (
    <QueryView query={totals} label="Counting deliveries" rows={2}>
      {(data) => (
        <Figures
          label="Deliveries by state"
          figures={SHOWN.map(([status, state]) => ({
            name: <DeliveryStateBadge state={state} />,
            value: count(data[status]),
            note: 'deliveries',
            href: withSearch(at('deliveries'), { state: status, time }),
          }))}
        />
      )}
    </QueryView>
  );
}
