import type { ReactNode } from 'react';
import { Icon } from '../text/icon.tsx';

/** Something that happened, at the time of a bar. */
export interface Mark {
  bar: number;
  /** How far it is into the time of the bar: 0 to 1. */
  into: number;
  /** The event in a few words. */
  title: string;
  /** The text for the list below the chart, with times and links. */
  text: ReactNode;
  /** It is good news. */
  isGood?: boolean;
}

const tone = ({ isGood = false }: Mark): string => (isGood ? 'text-ok' : 'text-bad');
const shape = ({ isGood = false }: Mark) => (isGood ? 'check' : 'cross');

interface FlagProps {
  marks: readonly Mark[];
  /** How many bars the chart has. */
  bars: number;
  /** The bar that the reader looks at. */
  at: number | undefined;
}

/** A line for each mark. Those of the bar that the reader looks at are named. */
export function Flags({ marks, bars, at }: FlagProps) {
  const here = marks.filter(({ bar }) => bar === at);
  const percent = (place: number): number => (100 * place) / bars;
  const isLeft = at !== undefined && at < bars / 2;
  return (
    <div aria-hidden="true" className="pointer-events-none absolute inset-0 z-10">
      {marks.map((mark, index) => (
        <span
          key={index}
          className={`absolute inset-y-0 border-l border-dashed border-ink ${tone(mark)}`}
          style={{ left: `${percent(mark.bar + mark.into)}%` }}
        >
          <Icon
            name={shape(mark)}
            className="absolute -top-1 -left-[7px] size-3.5 rounded-full bg-ground p-0.5"
          />
        </span>
      ))}
      {at !== undefined && here.length > 0 && (
        <ul
          className="absolute top-3 max-w-72 rounded-md border border-frame bg-raised px-2 py-1 text-xs"
          style={
            isLeft
              ? { left: `calc(${percent(at + 0.5)}% + 8px)` }
              : { right: `calc(${100 - percent(at + 0.5)}% + 8px)` }
          }
        >
          {here.slice(0, MOST).map((mark, index) => (
            <li key={index} className="truncate">
              {mark.title}
            </li>
          ))}
          {here.length > MOST && <li className="text-muted">and {here.length - MOST} more</li>}
        </ul>
      )}
    </div>
  );
}

/** So many marks are named. */
const MOST = 8;

interface ListProps {
  name: string;
  marks: readonly Mark[];
  /** The reader points at a mark of the list, or leaves it. */
  onLook(bar: number | undefined): void;
}

/** The marks in words, the newest first. */
export function MarkList({ name, marks, onLook }: ListProps) {
  if (marks.length === 0) return null;
  const shown = marks.toReversed().slice(0, MOST);
  const more = marks.length - shown.length;
  return (
    <ul aria-label={name} className="flex flex-wrap gap-x-5 pt-2 text-xs">
      {shown.map((mark, index) => (
        <li key={index} className="min-w-0">
          <span
            role="presentation"
            className="flex min-h-6 items-center gap-1.5"
            onFocus={() => onLook(mark.bar)}
            onBlur={() => onLook(undefined)}
            onPointerEnter={() => onLook(mark.bar)}
            onPointerLeave={() => onLook(undefined)}
          >
            <Icon name={shape(mark)} className={`size-3.5 ${tone(mark)}`} />
            <span className="min-w-0">{mark.text}</span>
          </span>
        </li>
      ))}
      {more > 0 && <li className="flex min-h-6 items-center text-muted">and {more} earlier</li>}
    </ul>
  );
}
