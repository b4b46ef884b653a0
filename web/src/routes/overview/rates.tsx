import { useQuery } from '@tanstack/react-query';
import type { GetTimeSeriesResult } from 'posthorn-client';
import { useContext } from 'react';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { BarChart } from '../../ui/charts/bar-chart.tsx';
import { formatMs } from '../../ui/charts/timing-bar.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { exactTime, span, TimeStyleContext, useNow } from '../../ui/text/time.tsx';

const STEP_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const SERIES = [
  ['Delivered', 'fill-ok'],
  ['Failed', 'fill-bad'],
] as const;

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
          <Chart data={data} onZoom={onZoom} />
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

function Chart({ data, onZoom }: { data: GetTimeSeriesResult; onZoom(time: string): void }) {
  const { utc } = useContext(TimeStyleContext);
  const { points, step } = data;
  const bars = points.map(({ start, delivered, failed }) => ({
    label: exactTime(Date.parse(start), utc).replace(/:\d\d\.\d{3}/, ''),
    values: [delivered, failed],
  }));
  const zoom = (from: number, to: number) => {
    const [first, last] = [points[from], points[to]];
    if (first === undefined || last === undefined) return;
    onZoom(
      `${minute(Date.parse(first.start), utc)} - ${minute(Date.parse(last.start) + STEP_MS[step], utc)}`,
    );
  };
  return <BarChart label={`Deliveries per ${step}`} series={SERIES} bars={bars} onBrush={zoom} />;
}

/** As a typed time range has it: 2026-01-31 14:05. */
function minute(at: number, utc: boolean): string {
  const shift = utc ? 0 : new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - shift).toISOString().slice(0, 16).replace('T', ' ');
}
