import { useQuery } from '@tanstack/react-query';
import type { GetWaitingTotalsResult } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { type Figure, Figures } from '../../parts/figures.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { span, useNow } from '../../ui/text/time.tsx';

type Gate = Exclude<keyof GetWaitingTotalsResult, 'complete'>;

/** Behind a closed gate. */
const HELD: readonly Gate[] = ['circuit_breaker', 'pending', 'paused', 'order'];
/** Due, and on their way: a node, a turn under a rate limit, or a consumer takes them. */
const SCHEDULED: readonly Gate[] = ['node', 'rate_limit', 'pull'];

/** The deliveries that have not ended, by what they wait for. */
export function OpenCounts() {
  const { api, id, at } = useProject();
  const now = useNow();
  const open = useQuery({
    queryKey: [id, 'overview', 'open'],
    queryFn: async () => {
      const [waiting, { content }] = await Promise.all([
        api.eventDeliveries.getWaitingTotals(),
        api.eventDeliveries.list({ status: ['Scheduled', 'Retry'], sort: 'ASC', perPage: 1 }).page(),
      ]);
      return { waiting, oldest: content[0] };
    },
    refetchInterval: 5000,
  });
  return (
    <QueryView query={open} label="Counting open deliveries" rows={2}>
      {({ waiting, oldest }) => {
        const figure = (name: string, gates: readonly Gate[], note = deliveriesNow(waiting)): Figure => ({
          name,
          value: count(gates.reduce((sum, gate) => sum + (waiting[gate] ?? 0), 0)),
          note,
          href: withSearch(at('deliveries'), { held: gates.join(',') }),
        });
        return (
          <Figures
            label="Open deliveries"
            figures={[
              figure('Waiting to retry', ['retry']),
              figure('Held', HELD, heldBy(waiting)),
              figure('Scheduled', SCHEDULED),
              figure('In flight', ['sending']),
              {
                name: 'Oldest pending',
                value:
                  oldest === undefined ? '–' : span(Math.max(0, now - Date.parse(oldest.created_at)) / 1000),
                note: oldest === undefined ? 'nothing is pending' : 'since it was created',
                href: at(oldest === undefined ? 'deliveries' : `deliveries/${oldest.uid}`),
              },
            ]}
          />
        );
      }}
    </QueryView>
  );
}

/** "329 circuit breaker, 3 paused". */
function heldBy(waiting: GetWaitingTotalsResult): string {
  const gates = HELD.filter((gate) => (waiting[gate] ?? 0) > 0);
  if (gates.length === 0) return deliveriesNow(waiting);
  const counts = gates.map((gate) => `${count(waiting[gate])} ${gate.replace('_', ' ')}`).join(', ');
  return waiting.complete ? counts : `at least ${counts}`;
}

const deliveriesNow = ({ complete }: GetWaitingTotalsResult): string =>
  complete ? 'deliveries now' : 'deliveries now, at least';
