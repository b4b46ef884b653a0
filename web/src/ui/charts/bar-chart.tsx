import { type PointerEvent, useState } from 'react';
import { count } from '../text/numbers.ts';

export interface Bar {
  /** The subject of the bar, such as a time. */
  label: string;
  values: readonly number[];
}

interface Props {
  label: string;
  /** The name of each value of a bar, and its colour. */
  series: readonly (readonly [name: string, className: string])[];
  bars: readonly Bar[];
  /** The reader marked these bars. Without it they cannot be marked. */
  onBrush?: ((from: number, to: number) => void) | undefined;
}

const HEIGHT = 96;

/** Stacked bars. The line above reads all values of the bar under the pointer; marking a range zooms into it. */
export function BarChart({ label, series, bars, onBrush }: Props) {
  const [at, setAt] = useState<number>();
  const [from, setFrom] = useState<number>();
  const top = Math.max(1, ...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)));
  const indexOf = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(bars.length - 1, Math.floor(((clientX - left) / width) * bars.length)));
  };
  const finish = (event: PointerEvent<SVGSVGElement>) => {
    const to = indexOf(event);
    if (from !== undefined && from !== to) onBrush?.(Math.min(from, to), Math.max(from, to));
    setFrom(undefined);
  };
  const read = at === undefined ? undefined : bars[at];
  const totals = series.map((_, index) => bars.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  return (
    <figure className="border-b border-line">
      <figcaption className="flex flex-wrap gap-x-4 py-1 text-xs text-muted">
        <span className="min-w-44">{read === undefined ? label : read.label}</span>
        {series.map(([name, className], index) => (
          <span key={name} className="inline-flex items-center gap-1.5">
            <svg className="size-2" aria-hidden="true">
              <rect width="8" height="8" className={className} />
            </svg>
            {name} <span className="text-ink">{count((read?.values ?? totals)[index])}</span>
          </span>
        ))}
      </figcaption>
      <svg
        role="img"
        aria-label={`${label}: ${series.map(([name], index) => `${name} ${totals[index]}`).join(', ')}`}
        viewBox={`0 0 ${bars.length * 10} ${HEIGHT}`}
        preserveAspectRatio="none"
        className={`block h-24 w-full select-none ${onBrush === undefined ? '' : 'cursor-crosshair touch-none'}`}
        onPointerMove={(event) => setAt(indexOf(event))}
        onPointerLeave={() => setAt(undefined)}
        onPointerDown={(event) => onBrush !== undefined && setFrom(indexOf(event))}
        onPointerUp={finish}
      >
        {bars.map(({ label: name, values }, index) => {
          const isMarked =
            index === at ||
            (from !== undefined &&
              at !== undefined &&
              index >= Math.min(from, at) &&
              index <= Math.max(from, at));
          let y = HEIGHT;
          return (
            <g key={name}>
              <rect
                x={index * 10}
                width="10"
                height={HEIGHT}
                className={isMarked ? 'fill-hover' : 'fill-transparent'}
              />
              {values.map((value, which) => {
                const height = value === 0 ? 0 : Math.max(1.5, (value / top) * (HEIGHT - 4));
                y -= height;
                return (
                  <rect
                    key={series[which]?.[0]}
                    x={index * 10 + 1}
                    y={y}
                    width="8"
                    height={height}
                    className={series[which]?.[1]}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
