import { type PointerEvent, useState } from 'react';
import { count } from '../text/numbers.ts';
import { Flags, type Mark, MarkList } from './marks.tsx';

export interface Bar {
  /** The subject of the bar, such as a time. */
  label: string;
  values: readonly number[];
}

interface Props {
  label: string;
  /** The words where all bars are empty. */
  none?: string;
  /** The name of each value of a bar, and its colour. */
  series: readonly (readonly [name: string, className: string])[];
  bars: readonly Bar[];
  /** The name of all marks, and the marks, oldest first. */
  marks?: readonly [name: string, marks: readonly Mark[]] | undefined;
  /** The reader marked these bars. Without it they cannot be marked. */
  onBrush?: ((from: number, to: number) => void) | undefined;
}

const HEIGHT = 96;
const NO_MARKS = ['', []] as const;

const ROUND = [1, 2, 3, 4, 5, 6, 8, 10];

/** A round number that is at least the highest bar, so that the axis can be read. */
function roundTop(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, highest)));
  return ROUND.map((step) => step * power).find((top) => top >= highest) ?? highest;
}

/**
 * Stacked bars with axes. The line above reads all values of the bar under the pointer; marking a range zooms into it.
 */
export function BarChart({ label, none, series, bars, marks: [name, marks] = NO_MARKS, onBrush }: Props) {
  const [at, setAt] = useState<number>();
  const [from, setFrom] = useState<number>();
  const highest = Math.max(0, ...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)));
  const top = roundTop(highest);
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
  const isMarked = (index: number) =>
    index === at ||
    (from !== undefined && at !== undefined && index >= Math.min(from, at) && index <= Math.max(from, at));
  return (
    <figure className="border-b border-line pb-1">
      <figcaption className="flex flex-wrap gap-x-4 py-1 text-xs text-muted">
        <span className="min-w-44">{read === undefined ? label : read.label}</span>
        {series.map(([one, className], index) => (
          <span key={one} className="inline-flex items-center gap-1.5">
            <svg className="size-2" aria-hidden="true">
              <rect width="8" height="8" className={className} />
            </svg>
            {one} <span className="text-ink">{count((read?.values ?? totals)[index])}</span>
          </span>
        ))}
      </figcaption>
      <div className="grid grid-cols-[auto_1fr] gap-x-2">
        <Scale top={top} />
        <div className="relative">
          <Flags marks={marks} bars={bars.length} at={at} />
          <svg
            role="img"
            aria-label={[
              `${label}: ${series.map(([one], index) => `${one} ${totals[index]}`).join(', ')}`,
              ...marks.map(({ bar, title }) => `${bars[bar]?.label}: ${title}`),
            ].join('. ')}
            viewBox={`0 0 ${bars.length * 10} ${HEIGHT}`}
            preserveAspectRatio="none"
            className={`block h-24 w-full select-none ${onBrush === undefined ? '' : 'cursor-crosshair touch-none'}`}
            onPointerMove={(event) => setAt(indexOf(event))}
            onPointerLeave={() => setAt(undefined)}
            onPointerDown={(event) => onBrush !== undefined && setFrom(indexOf(event))}
            onPointerUp={finish}
          >
            {[0, HEIGHT / 2, HEIGHT - 1].map((y) => (
              <rect key={y} y={y} width={bars.length * 10} height="1" className="fill-line" />
            ))}
            {bars.map(({ label: key, values }, index) => (
              <Stack
                key={key}
                x={index * 10}
                colours={series.map(([, className]) => className)}
                values={values}
                top={top}
                isMarked={isMarked(index)}
              />
            ))}
          </svg>
          {highest === 0 && none !== undefined && (
            <p className="pointer-events-none absolute inset-0 grid place-items-center text-xs text-muted">
              <span className="bg-ground px-2">{none}</span>
            </p>
          )}
        </div>
        <TimeAxis bars={bars} />
      </div>
      <MarkList name={name} marks={marks} onLook={setAt} />
    </figure>
  );
}

const Scale = ({ top }: { top: number }) => (
  <div aria-hidden="true" className="flex h-24 flex-col justify-between text-right text-xs/none text-muted">
    <span>{count(top)}</span>
    <span>{top >= 2 ? count(top / 2) : ''}</span>
    <span>0</span>
  </div>
);

/** The first, the middle and the last time. */
function TimeAxis({ bars }: { bars: readonly Bar[] }) {
  const shown = [bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)];
  return (
    <div
      aria-hidden="true"
      className="col-start-2 flex justify-between gap-2 overflow-hidden pt-1 text-xs/none whitespace-nowrap text-muted"
    >
      {shown.map((bar, index) => (
        <span key={index} className={index === 1 ? 'max-sm:hidden' : ''}>
          {bar?.label}
        </span>
      ))}
    </div>
  );
}

interface StackProps {
  x: number;
  values: readonly number[];
  colours: readonly string[];
  top: number;
  isMarked: boolean;
}

function Stack({ x, values, colours, top, isMarked }: StackProps) {
  const heights = values.map((value) => (value === 0 ? 0 : Math.max(1.5, (value / top) * HEIGHT)));
  return (
    <g>
      <rect x={x} width="10" height={HEIGHT} className={isMarked ? 'fill-hover' : 'fill-transparent'} />
      {heights.map((height, which) => (
        <rect
          key={which}
          x={x + 1}
          y={HEIGHT - heights.slice(0, which + 1).reduce((sum, one) => sum + one, 0)}
          width="8"
          height={height}
          className={colours[which]}
        />
      ))}
    </g>
  );
}
