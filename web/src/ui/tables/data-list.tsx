import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef } from 'react';
import { isAlone } from '../controls/keys.ts';
import { type Column, useColumns } from './columns.ts';
import { Head, Row } from './data-row.tsx';
import { type Selection, Tick, TickAll } from './tick.tsx';

export interface DataListHandle {
  /** Rows may be put on top: the list is at its beginning and the pointer is elsewhere. */
  mayGrow(): boolean;
  toTop(): void;
}

interface Props<T> {
  /** The plural noun of the rows, such as "Events". */
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey(row: T): string;
  href(row: T): string;
  /** The name of a row for a screen reader. */
  name(row: T): string;
  /** The key of the row that is open. */
  open?: string | undefined;
  /** Loads more rows. Undefined if there are none. */
  onEnd?: (() => void) | undefined;
  /** With it each row has a box to tick. */
  selection?: Selection | undefined;
  ref?: Ref<DataListHandle>;
}

/** Heights in pixels: of a row, and of a line and the space around the lines in a narrow list. */
const ROW = 32;
const LINE = 20;
const SPACE = 12;
const PRELOAD_ROWS = 200;

/** A virtual list: any number of rows, of which some 40 are in the document. */
export function DataList<T>(props: Props<T>) {
  const { label, rows, columns, rowKey, href, name, open, onEnd, selection, ref } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { shown, lines } = useColumns(scroller, columns);
  const height = lines === undefined ? ROW : lines.length * LINE + SPACE;
  const tick = selection === undefined ? [] : ['1rem'];
  const tracks = lines === undefined ? shown.map((column) => column.width) : ['minmax(0, 1fr)'];
  const template = { gridTemplateColumns: [...tick, ...tracks].join(' ') };
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 16,
  });
  // It keeps the heights that it has asked for.
  useLayoutEffect(() => virtual.measure(), [virtual, height]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - PRELOAD_ROWS) onEnd?.();
  }, [last, rows.length, onEnd]);
  useImperativeHandle(ref, () => ({
    mayGrow: () => {
      const element = scroller.current;
      return element === null || (element.scrollTop < height && !element.matches(':hover, :focus-within'));
    },
    toTop: () => virtual.scrollToOffset(0),
  }));
  const move = (event: KeyboardEvent<HTMLDivElement>) => moveFocus(event, virtual.scrollToIndex);
  useEffect(() => {
    const enter = (event: globalThis.KeyboardEvent) => enterList(event, scroller.current);
    addEventListener('keydown', enter);
    return () => removeEventListener('keydown', enter);
  }, []);

  return (
    <div
      ref={scroller}
      className="relative min-h-0 flex-1 overflow-auto border-y border-line"
      onKeyDown={move}
      role="presentation"
    >
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className="min-w-full">
        <Head columns={shown} isNarrow={lines !== undefined} template={template}>
          {selection !== undefined && (
            <TickAll count={rows.length} keys={() => rows.map(rowKey)} selection={selection} />
          )}
        </Head>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index] as T;
            const key = rowKey(row);
            const place = { ...template, height, transform: `translateY(${start}px)` };
            const isOpen = key === open;
            return (
              <Row key={key} {...{ row, index, place, href, name, lines, isOpen }} columns={shown}>
                {selection !== undefined && <Tick label={name(row)} rowKey={key} selection={selection} />}
              </Row>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const STEP: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** Arrow keys and j, k move the focus between rows. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>, show: (index: number) => void): void {
  const step = STEP[event.key];
  const row = (event.target as HTMLElement).closest<HTMLElement>('[data-row]');
  if (step === undefined || row === null) return;
  event.preventDefault();
  const next = Number(row.dataset['row']) + step;
  const list = event.currentTarget;
  show(next);
  requestAnimationFrame(() => list.querySelector<HTMLElement>(`[data-row="${next}"] a`)?.focus());
}

/** j and k bring the focus into a list that does not have it: to its open row, or to the first in sight. */
function enterList(event: globalThis.KeyboardEvent, list: HTMLElement | null): void {
  if (list === null || !['j', 'k'].includes(event.key) || !isAlone(event)) return;
  // In a select a letter chooses.
  if (list.contains(document.activeElement) || document.activeElement instanceof HTMLSelectElement) return;
  const { top } = list.getBoundingClientRect();
  const rows = [...list.querySelectorAll<HTMLElement>('[data-row]')];
  const row =
    rows.find((one) => one.ariaCurrent === 'true') ??
    rows.find((one) => one.getBoundingClientRect().top >= top);
  row?.querySelector('a')?.focus();
}
