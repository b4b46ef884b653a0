import { useQuery } from '@tanstack/react-query';
import type { GetTimeSeriesQuery, GetTimeSeriesResult } from 'posthorn-client';
import type { ReactNode } from 'react';
import { formatMs } from '../ui/charts/timing-bar.tsx';
import { DeliveryChart, type TimeMarks } from './delivery-chart.tsx';
import { type Figure, Figures } from './figures.tsx';
import { QueryView } from './query-view.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

type Own = Readonly<Record<'delivered' | 'failed' | 'half' | 'most', Figure>>;

interface Props {
  /** Tells these numbers from others. */
  name: readonly unknown[];
  ask(): GetTimeSeriesQuery;
  everySeconds: number;
  /** The figures to show, from those that every page has. */
  figures?(own: Own, data: GetTimeSeriesResult): readonly Figure[];
  /** The words of a chart without attempts. */
  none?: string;
  /** Marks in the chart. */
  marks?(data: GetTimeSeriesResult): TimeMarks;
  /** The reader marked a time in the chart. */
  onZoom?(time: string): void;
  /** More about the same data. */
  children?(data: GetTimeSeriesResult): ReactNode;
}

/** Deliveries of a time and their latency: in all, and over the time. */
export function Numbers(props: Props) {
  const { name, ask, everySeconds, figures = Object.values, none, marks, onZoom, children } = props;
  const { numbers: t, pages, ui } = useWords();
  const { api, project } = useSite();
  const series = useQuery({
    queryKey: [project, 'numbers', ...name],
    queryFn: () => api.dashboard.getTimeSeries(ask()),
    refetchInterval: everySeconds * 1000,
    placeholderData: (before) => before,
  });
  const counted = (word: string, value: number): Figure => ({
    name: word,
    value: value.toLocaleString(ui.locale),
    note: t.deliveries,
  });
  const within = (word: string, ms: number | undefined): Figure => ({
    name: word,
    value: ms === undefined ? '–' : formatMs(ms),
    note: ms === undefined ? t.nothing : t.withRetries,
  });
  return (
    <QueryView query={series} rows={4}>
      {(data) => {
        const { delivered, failed, latency } = data.totals;
        const own: Own = {
          delivered: counted(t.delivered, delivered),
          failed: counted(t.failed, failed),
          half: within(t.typical, latency?.p50),
          most: within(t.slow, latency?.p99),
        };
        return (
          <>
            <Figures label={pages.numbers} figures={figures(own, data)} />
            <DeliveryChart data={data} none={none} marks={marks?.(data)} onZoom={onZoom} />
            {children?.(data)}
          </>
        );
      }}
    </QueryView>
  );
}
