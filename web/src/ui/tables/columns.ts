import { type ReactNode, type RefObject, useContext, useLayoutEffect, useState } from 'react';
import { TimeStyleContext } from '../text/time.tsx';

export interface Column<T> {
  name: string;
  /** A track of a CSS grid. */
  width: string;
  cell(row: T): ReactNode;
  /** The width of the list in pixels from which it is shown. */
  from?: number;
  right?: boolean;
  /** Its cells are times, which need more room when they are exact. */
  isTime?: boolean;
  /** The line on which it stands in a narrow list. Undefined: it is left out there. */
  line?: 1 | 2;
}

/** In pixels. Below it a row has several lines: on a phone, but not in a list with an open row next to it. */
const NARROW = 400;
const EXACT_TIME = '12.5rem';
const EXACT_TIME_MORE = 96;

interface Shown<T> {
  /** In the order of the document. */
  shown: readonly Column<T>[];
  /** The lines of a row of a narrow list. Undefined: the list is wide, and a row is one line. */
  lines: readonly (readonly Column<T>[])[] | undefined;
}

/** The columns that have room. */
export function useColumns<T>(list: RefObject<HTMLElement | null>, columns: readonly Column<T>[]): Shown<T> {
  const width = useWidth(list);
  const isExact = useContext(TimeStyleContext).exact && columns.some(({ isTime }) => isTime);
  const room = width - (isExact ? EXACT_TIME_MORE : 0);
  if (room >= NARROW) {
    const shown = columns
      .filter(({ from = 0 }) => room >= from)
      .map((one) => (isExact && one.isTime ? { ...one, width: EXACT_TIME } : one));
    return { shown, lines: undefined };
  }
  // An exact time fits next to nothing.
  const lineOf = ({ isTime, line }: Column<T>) => (isExact && isTime && line !== undefined ? 3 : line);
  const lines = [1, 2, 3]
    .map((line) => columns.filter((one) => lineOf(one) === line))
    .filter(({ length }) => length > 0);
  return { shown: lines.flat(), lines };
}

/** The width of an element, followed. */
function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const measure = () => {
      // A list that is not shown has none, and comes back as it was.
      if (element.clientWidth > 0) setWidth(element.clientWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}
