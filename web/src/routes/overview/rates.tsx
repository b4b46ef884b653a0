import { useQuery } from '@tanstack/react-query';
import type { GetTimeSeriesResult } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { STEP_MS } from '../../parts/delivery-chart.tsx';
import { Numbers } from '../../parts/numbers.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { span, useNow } from '../../ui/text/time.tsx';

interface Props {
  time: string;
  range: TimeRange;
  onZoom(time: string): void;
}

/** Rates, latency and age of the queue in the time, and deliveries over it. */
export function Rates({ time, range, onZoom }: Props) {
  const { api, id, at } = useProject();
  const now = useNow();
  const { data: oldest } = useQuery({
    queryKey: [id, 'overview', 'oldest'],
    queryFn: async () =>
      (await api.eventDeliveries.list({ status: ['Scheduled', 'Retry'], sort: 'ASC', perPage: 1 }).page())
        .content[0] ?? null,
    refetchInterval: 5000,
  });
  const all = at('deliveries');
  return (
    <Numbers
      name={['overview', time]}
      ask={() => range}
      everySeconds={5}
      figures={({ delivered, failed, half, most }, data) => [
        {
          name: 'Accepted',
          value: count(data.totals.accepted),
          note: `events, ${rate(data, data.totals.accepted)}`,
          href: withSearch(at('events'), { time }),
        },
        {
          ...delivered,
          note: `${delivered.note}, ${rate(data, data.totals.delivered)}`,
          href: withSearch(all, { state: 'Success', time }),
        },
        {
          ...failed,
          note: `${failed.note}, ${rate(data, data.totals.failed)}`,
          href: withSearch(at('failures'), { time }),
        },
        { ...half, href: all },
        { ...most, href: all },
        {
          name: 'Oldest that waits',
          value: oldest == null ? '–' : span(Math.max(0, now - Date.parse(oldest.created_at)) / 1000),
          note: oldest === null ? 'nothing waits' : 'since it was made',
          href: oldest == null ? all : at(`deliveries/${oldest.uid}`),
        },
      ]}
      onZoom={onZoom}
    />
  );
}

function rate({ points, step }: GetTimeSeriesResult, total: number): string {
  const perSecond = total / Math.max(1, (points.length * STEP_MS[step]) / 1000);
  return perSecond >= 0.1 ? `${perSecond.toFixed(1)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
}
