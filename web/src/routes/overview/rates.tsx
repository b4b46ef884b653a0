import { useQuery } from '@tanstack/react-query';
import type { GetTimeSeriesResult } from 'posthorn-client';
import { DeliveryChart, STEP_MS } from '../../dashboard/delivery-chart.tsx';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { formatMs } from '../../ui/charts/timing-bar.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { span, useNow } from '../../ui/text/time.tsx';

interface Props {
  time: string;
  range: TimeRange;
  onZoom(time: string): void;
}

/** Rates, latency and age of the queue in the time, and deliveries over it. */
export function Rates({ time, range, onZoom }: Props) {
  const { api, id } = useProject();
  const series = useQuery({
    queryKey: [id, 'overview', 'series', time],
    queryFn: () => api.dashboard.getTimeSeries(range),
    refetchInterval: 5000,
    placeholderData: (before) => before,
  });
  const oldest = useQuery({
    queryKey: [id, 'overview', 'oldest'],
    queryFn: async () =>
      (await api.eventDeliveries.list({ status: ['Scheduled', 'Retry'], sort: 'ASC', perPage: 1 }).page())
        .content[0] ?? null,
    refetchInterval: 5000,
  });
  return (
    <QueryView query={series} label="Reading the time series" rows={4}>
      {(data) => (
        <>
          <Figures data={data} time={time} oldest={oldest.data} />
          <DeliveryChart data={data} onZoom={onZoom} />
        </>
      )}
    </QueryView>
  );
}

type Oldest = { uid: string; created_at: string } | null | undefined;

function Figures({ data, time, oldest }: { data: GetTimeSeriesResult; time: string; oldest: Oldest }) {
  const { at } = useProject();
  const now = useNow();
  const { totals, points, step } = data;
  const seconds = (points.length * STEP_MS[step]) / 1000;
  const rate = (value: number): string => {
    const perSecond = value / Math.max(1, seconds);
    return perSecond >= 0.1 ? `${perSecond.toFixed(1)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
  };
  const figures: [name: string, value: string, note: string, href: string][] = [
    [
      'Accepted',
      count(totals.accepted),
      `events, ${rate(totals.accepted)}`,
      withSearch(at('events'), { time }),
    ],
    [
      'Delivered',
      count(totals.delivered),
      `deliveries, ${rate(totals.delivered)}`,
      withSearch(at('deliveries'), { state: 'Success', time }),
    ],
    [
      'Failed',
      count(totals.failed),
      `deliveries, ${rate(totals.failed)}`,
      withSearch(at('failures'), { time }),
    ],
    [
      'Half arrive within',
      totals.latency === null ? '–' : formatMs(totals.latency.p50),
      totals.latency === null ? 'nothing delivered' : 'p50, retries included',
      at('deliveries'),
    ],
    [
      '99 % within',
      totals.latency === null ? '–' : formatMs(totals.latency.p99),
      totals.latency === null ? 'nothing delivered' : 'p99, retries included',
      at('deliveries'),
    ],
    [
      'Oldest that waits',
      oldest == null ? '–' : span(Math.max(0, now - Date.parse(oldest.created_at)) / 1000),
      oldest === null ? 'nothing waits' : 'since it was made',
      oldest == null ? at('deliveries') : at(`deliveries/${oldest.uid}`),
    ],
  ];
  return (
    <ul
      aria-label="Rates"
      className="grid grid-cols-2 border-t border-l border-line sm:grid-cols-3 lg:grid-cols-6"
    >
      {figures.map(([name, value, note, href]) => (
        <li key={name} className="relative min-w-0 border-r border-b border-line p-3 hover:bg-hover">
          <Link href={href} className="block after:absolute after:inset-0">
            <span className="text-muted">{name}</span>
            <span className="block text-lg font-semibold">{value}</span>
            <span className="block truncate text-xs text-muted">{note}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
