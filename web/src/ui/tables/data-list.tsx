import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  useEffect,
  useImperativeHandle,
  useRef,
} from 'react';
import { Link } from '../text/link.tsx';
import { type Selection, Tick, TickAll } from './tick.tsx';
import { useWidth } from './use-width.ts';

export interface Column<T> {
  name: string;
  /** A track of a CSS grid. */
  width: string;
  cell(row: T): ReactNode;
  /** The width of the list in pixels from which it is shown. */
  from?: number;
  right?: boolean;
}

export interface DataListHandle {
  /** Rows may be put on top: the list is at its beginning and the pointer is elsewhere. */
  mayGrow(): boolean;
  toTop(): void;
}

interface Props<T> {
  /** What the rows are, such as "Events". */
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey(row: T): string;
  href(row: T): string;
  /** What a row is called by a screen reader. */
  name(row: T): string;
  /** The key of the row that is open. */
  open?: string | undefined;
  /** Loads more rows. Undefined if there are none. */
  onEnd?: (() => void) | undefined;
  /** With it each row has a box to tick. */
  selection?: Selection | undefined;
  ref?: Ref<DataListHandle>;
}

const ROW = 32;
const PRELOAD_ROWS = 200;

/** A virtual list: any number of rows, of which some 40 are in the document. */
export function DataList<T>(props: Props<T>) {
  const { label, rows, columns, rowKey, href, name, open, onEnd, selection, ref } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const shown = columns.filter(({ from = 0 }) => width >= from);
  const tick = selection === undefined ? [] : ['1rem'];
  const template = {
    gridTemplateColumns: [...tick, ...shown.map((column) => column.width)].join(' '),
  };
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 16,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - PRELOAD_ROWS) onEnd?.();
  }, [last, rows.length, onEnd]);
  useImperativeHandle(ref, () => ({
    mayGrow: () => {
      const element = scroller.current;
      return element === null || (element.scrollTop < ROW && !element.matches(':hover, :focus-within'));
    },
    toTop: () => virtual.scrollToOffset(0),
  }));
  const move = (event: KeyboardEvent<HTMLDivElement>) => moveFocus(event, virtual.scrollToIndex);

  return (
    <div
      ref={scroller}
      className="relative min-h-0 flex-1 overflow-auto border-y border-line"
      onKeyDown={move}
      role="presentation"
    >
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1} className="min-w-full">
        <Head columns={shown} template={template}>
          {selection !== undefined && (
            <TickAll count={rows.length} keys={() => rows.map(rowKey)} selection={selection} />
          )}
        </Head>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index] as T;
            const key = rowKey(row);
            const place = { ...template, transform: `translateY(${start}px)` };
            return (
              <Row key={key} {...{ row, index, place, href, name }} columns={shown} isOpen={key === open}>
                {selection !== undefined && <Tick label={name(row)} rowKey={key} selection={selection} />}
              </Row>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const side = ({ right }: { right?: boolean }): string =>
  `min-w-0 truncate ${right === true ? 'text-right' : ''}`;

interface HeadProps<T> {
  columns: readonly Column<T>[];
  template: CSSProperties;
  children: ReactNode;
}

function Head<T>({ columns, template, children }: HeadProps<T>) {
  return (
    <div role="rowgroup" className="sticky top-0 z-10">
      <div
        role="row"
        style={template}
        className="grid h-8 items-center gap-3 border-b border-line bg-panel px-2 text-xs text-muted"
      >
        {children}
        {columns.map((column) => (
          <div key={column.name} role="columnheader" className={side(column)}>
            {column.name}
          </div>
        ))}
      </div>
    </div>
  );
}

interface RowProps<T> extends Pick<Props<T>, 'href' | 'name' | 'columns'> {
  row: T;
  index: number;
  place: CSSProperties;
  isOpen: boolean;
  children: ReactNode;
}

/** The link of the first cell covers the row. */
function Row<T>({ row, index, place, columns, href, name, isOpen, children }: RowProps<T>) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-current={isOpen}
      data-row={index}
      style={place}
      className={`absolute inset-x-0 top-0 grid h-8 items-center gap-3 border-b border-line px-2 hover:bg-hover ${isOpen ? 'bg-chosen' : ''}`}
    >
      {children}
      {columns.map((column, at) => (
        <div key={column.name} role="cell" className={side(column)}>
          {at === 0 ? (
            <Link href={href(row)} className="outline-offset-4 after:absolute after:inset-0">
              {column.cell(row)}
              <span className="sr-only">, {name(row)}</span>
            </Link>
          ) : (
            column.cell(row)
          )}
        </div>
      ))}
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
