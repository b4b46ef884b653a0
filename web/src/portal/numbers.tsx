import { useQuery } from '@tanstack/react-query';
import type { GetTimeSeriesResult } from 'posthorn-client';
import { useState } from 'react';
import { QueryView } from '../parts/query-view.tsx';
import { useWords } from '../parts/words.ts';
import { BarChart } from '../ui/charts/bar-chart.tsx';
import { formatMs } from '../ui/charts/timing-bar.tsx';
import { SelectField } from '../ui/controls/fields.tsx';
import { PlainTable, type TableColumn } from '../ui/tables/plain-table.tsx';
import { endpointsQuery } from './endpoints/queries.ts';
import { useLink } from './link.ts';
import { api } from './session.ts';

const DAYS = 14;
const DAY_MS = 86_400_000;

type Point = GetTimeSeriesResult['points'][number];

/** Delivered and failed by endpoint and day, and the latency. */
export function Numbers() {
  const { numbers: t } = useWords();
  const link = useLink();
  const [endpoint, setEndpoint] = useState('');
  const endpoints = useQuery(endpointsQuery);
  const isLimited = link.event_types.length > 0;
  const series = useQuery({
    queryKey: ['numbers', endpoint],
    queryFn: () =>
      api.dashboard.getTimeSeries({
        startDate: new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString(),
        step: 'day',
        ...(endpoint === '' ? {} : { endpointId: [endpoint] }),
      }),
    enabled: !isLimited,
    refetchInterval: 30_000,
  });
  // The counters do not tell event types apart, so a link for some types gets none.
  if (isLimited) return <p className="text-muted">{t.none}</p>;
  return (
    <>
      <div className="mb-4 max-w-96">
        <SelectField
          label={t.endpoint}
          value={endpoint}
          onChange={(event) => setEndpoint(event.target.value)}
          choices={[['', t.all], ...(endpoints.data ?? []).map(({ uid, name }) => [uid, name] as const)]}
        />
      </div>
      <QueryView query={series}>{({ points, totals }) => <Days points={points} totals={totals} />}</QueryView>
    </>
  );
}

type Counted = Pick<Point, 'delivered' | 'failed' | 'latency'>;

function Days({ points, totals }: { points: Point[]; totals: Counted }) {
  const { numbers: t, ui } = useWords();
  const dayOf = (at: string) =>
    new Intl.DateTimeFormat(ui.locale, {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      timeZone: 'UTC',
    }).format(new Date(at));
  const count = (value: number) => value.toLocaleString(ui.locale);
  const ms = (value: number | undefined) => (value === undefined ? '–' : formatMs(value));
  const columns: TableColumn<Counted & { name: string }>[] = [
    { name: t.day, cell: ({ name }) => name },
    { name: t.delivered, cell: ({ delivered }) => count(delivered) },
    { name: t.failed, cell: ({ failed }) => count(failed) },
    { name: t.typical, cell: ({ latency }) => ms(latency?.p50) },
    { name: t.slow, cell: ({ latency }) => ms(latency?.p99) },
  ];
  return (
    <>
      <BarChart
        label={t.perDay}
        series={[
          [t.delivered, 'fill-ok'],
          [t.failed, 'fill-bad'],
        ]}
        bars={points.map(({ start, delivered, failed }) => ({
          label: dayOf(start),
          values: [delivered, failed],
        }))}
        onBrush={() => undefined}
      />
      <div className="mt-4">
        <PlainTable
          label={t.perDay}
          rows={[
            { name: t.days(points.length), ...totals },
            ...points.map((point) => ({ ...point, name: dayOf(point.start) })).toReversed(),
          ]}
          columns={columns}
          rowKey={({ name }) => name}
          isTight
        />
      </div>
    </>
  );
}
