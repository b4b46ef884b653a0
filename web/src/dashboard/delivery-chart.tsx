import type { GetTimeSeriesResult } from 'posthorn-client';
import { useContext } from 'react';
import { BarChart } from '../ui/charts/bar-chart.tsx';
import { exactTime, TimeStyleContext } from '../ui/text/time.tsx';

export const STEP_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

const SERIES = [
  ['Delivered', 'fill-ok'],
  ['Failed', 'fill-bad'],
] as const;

/** Deliveries over time. Marking a part of it gives that time, as a filter has it. */
export function DeliveryChart({ data, onZoom }: { data: GetTimeSeriesResult; onZoom(time: string): void }) {
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
