import type { GetTimeSeriesResult } from 'posthorn-client';
import { projectMarks } from '../../dashboard/breaker-marks.tsx';
import { inTime } from '../../dashboard/lists/time-filter.tsx';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { STEP_MS } from '../../parts/delivery-chart.tsx';
import type { Figure } from '../../parts/figures.tsx';
import { Numbers } from '../../parts/numbers.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { count, percent } from '../../ui/text/numbers.ts';

interface Props {
  time: string;
  range: TimeRange;
  onZoom(time: string): void;
}

/** Counts and latency of the time, and attempts over it. */
export function Rates({ time, range, onZoom }: Props) {
  const { at } = useProject();
  const all = at('deliveries');
  return (
    <Numbers
      name={['overview', time]}
      ask={() => range}
      everySeconds={5}
      none={`No attempts ${inTime(time)}.`}
      marks={({ breaker_openings: openings }) =>
        projectMarks(openings, (endpoint) => at(`endpoints/${endpoint}`))
      }
      figures={({ delivered, failed, half, most }, data) => [
        {
          name: 'Accepted, about',
          value: count(data.totals.accepted),
          note: `events, ${rate(data, data.totals.accepted)}`,
          href: withSearch(at('events'), { time }),
        },
        {
          ...delivered,
          note: `${delivered.note}, ${rate(data, data.totals.delivered)}`,
          href: withSearch(all, { state: 'Success', time }),
        },
        failedAttempts(data, withSearch(at('failures'), { time })),
        { ...failed, note: 'deliveries, no retries left', href: withSearch(all, { state: 'Failure', time }) },
        { ...half, href: all },
        { ...most, href: all },
      ]}
      onZoom={onZoom}
    />
  );
}

function failedAttempts({ totals }: GetTimeSeriesResult, href: string): Figure {
  const { attempts, failed_attempts: failed } = totals;
  const note = attempts === 0 ? 'no attempts' : `${percent((100 * failed) / attempts)} of ${count(attempts)}`;
  return { name: 'Failed attempts', value: count(failed), note, href, isBad: failed > 0 };
}

function rate({ points, step }: GetTimeSeriesResult, total: number): string {
  const perSecond = total / Math.max(1, (points.length * STEP_MS[step]) / 1000);
  return perSecond >= 0.1 ? `${perSecond.toFixed(1)}/s` : `${(perSecond * 60).toFixed(1)}/min`;
}
