import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { DeliveryStateBadge } from '../../parts/badges.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
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
export function Figures({ time, range }: { time: string; range: TimeRange }) {
  const { api, id, at } = useProject();
  const totals = useQuery({
    queryKey: [id, 'overview', 'totals', time],
    queryFn: () => api.dashboard.getStatusTotals(range),
    refetchInterval: 3000,
  });
  return (
    <QueryView query={totals} label="Counting deliveries" rows={2}>
      {(data) => (
        <ul
          aria-label="Deliveries by state"
          className="grid grid-cols-2 border-t border-l border-line sm:grid-cols-3 lg:grid-cols-6"
        >
          {SHOWN.map(([status, state]) => (
            <li key={status} className="relative border-r border-b border-line p-3 hover:bg-hover">
              <DeliveryStateBadge state={state} />
              <Link
                href={withSearch(at('deliveries'), { state: status, time })}
                className="block text-lg after:absolute after:inset-0"
              >
                {count(data[status])} <span className="text-xs text-muted">deliveries</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </QueryView>
  );
}
