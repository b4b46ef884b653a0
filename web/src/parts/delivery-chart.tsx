import type { GetTimeSeriesResult } from 'posthorn-client';
import { useContext } from 'react';
import { BarChart } from '../ui/charts/bar-chart.tsx';
import type { Mark } from '../ui/charts/marks.tsx';
import { exactTime, TimeStyleContext } from '../ui/text/time.tsx';
import { useWords } from './words.ts';

export const STEP_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** Something that happened at a time. */
export interface TimeMark extends Omit<Mark, 'bar' | 'into'> {
  at: string;
}

/** The name of all marks, and the marks, oldest first. */
export type TimeMarks = readonly [name: string, marks: readonly TimeMark[]];

interface Props {
  data: GetTimeSeriesResult;
  /** The words where nothing was sent. */
  none?: string | undefined;
  marks?: TimeMarks | undefined;
  /** The reader marked this time, worded as a filter has it. */
  onZoom?: ((time: string) => void) | undefined;
}

/** Attempts over time, by result. */
export function DeliveryChart({ data, none, marks: [name, marks] = ['', []], onZoom }: Props) {
  const { utc } = useContext(TimeStyleContext);
  const { numbers: t, ui } = useWords();
  const { points, step } = data;
  const labelOf = (start: string): string =>
    step === 'day'
      ? dayName(start, ui.locale)
      : exactTime(Date.parse(start), utc, ui.locale).replace(/:\d\d\.\d{3}/, '');
  const placeOf = (at: string): Pick<Mark, 'bar' | 'into'> => {
    const place = (Date.parse(at) - Date.parse(points[0]?.start ?? at)) / STEP_MS[step];
    return { bar: Math.floor(place), into: place - Math.floor(place) };
  };
  const zoom = (from: number, to: number) => {
    const [first, last] = [points[from], points[to]];
    if (first === undefined || last === undefined) return;
    onZoom?.(
      `${minute(Date.parse(first.start), utc)} - ${minute(Date.parse(last.start) + STEP_MS[step], utc)}`,
    );
  };
  return (
    <BarChart
      label={t.per[step]}
      none={none ?? t.noAttempts}
      marks={[
        name,
        marks
          .map((mark) => ({ ...mark, ...placeOf(mark.at) }))
          .filter(({ bar }) => bar >= 0 && bar < points.length),
      ]}
      series={[
        [t.succeeded, 'fill-ok'],
        [t.failedAttempts, 'fill-bad'],
      ]}
      bars={points.map(({ start, attempts, failed_attempts }) => ({
        label: labelOf(start),
        values: [attempts - failed_attempts, failed_attempts],
      }))}
      onBrush={onZoom && zoom}
    />
  );
}

/** "Mon 16 Nov": the days of a time series are those of UTC. */
export function dayName(at: string, locale: string): string {
  const parts = { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat(locale, parts).format(new Date(at));
}

/** As a typed time range has it: 2026-01-31 14:05. */
function minute(at: number, utc: boolean): string {
  const shift = utc ? 0 : new Date(at).getTimezoneOffset() * 60_000;
  return new Date(at - shift).toISOString().slice(0, 16).replace('T', ' ');
}
