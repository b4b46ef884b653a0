import type { CSSProperties, ReactNode } from 'react';
import { Link } from '../text/link.tsx';
import type { Column } from './columns.ts';

const side = ({ right }: { right?: boolean }): string =>
  `min-w-0 truncate ${right === true ? 'text-right not-last:pr-3' : ''}`;

interface HeadProps<T> {
  columns: readonly Column<T>[];
  isNarrow: boolean;
  template: CSSProperties;
  /** The box of all rows. */
  children: ReactNode;
}

/** The names of the columns. In a narrow list without boxes only a screen reader has them. */
export function Head<T>({ columns, isNarrow, template, children }: HeadProps<T>) {
  const isHidden = isNarrow && children === false;
  const names = columns.map((column) => (
    <div key={column.name} role="columnheader" className={side(column)}>
      {column.name}
    </div>
  ));
  return (
    <div role="rowgroup" className={isHidden ? 'sr-only' : 'sticky top-0 z-10'}>
      <div
        role="row"
        style={template}
        className="grid h-8 items-center gap-3 border-b border-line bg-panel px-2 text-xs text-muted"
      >
        {children}
        {isNarrow ? <div className="flex min-w-0 gap-3">{names}</div> : names}
      </div>
    </div>
  );
}

interface RowProps<T> {
  row: T;
  index: number;
  columns: readonly Column<T>[];
  lines: readonly (readonly Column<T>[])[] | undefined;
  place: CSSProperties;
  isOpen: boolean;
  href(row: T): string;
  name(row: T): string;
  /** The box of the row. */
  children: ReactNode;
}

/** The link of the first cell covers the row. */
export function Row<T>({ row, index, columns, lines, place, isOpen, children, ...link }: RowProps<T>) {
  const cell = (column: Column<T>, className: string) => (
    <div key={column.name} role="cell" className={className}>
      {column === columns[0] ? (
        <Link href={link.href(row)} className="outline-offset-4 after:absolute after:inset-0">
          {column.cell(row)}
          {/* It stands at the left, since a name that is cut would push it out of the list. */}
          <span className="sr-only left-0">, {link.name(row)}</span>
        </Link>
      ) : (
        column.cell(row)
      )}
    </div>
  );
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-current={isOpen}
      data-row={index}
      style={place}
      className={`absolute inset-x-0 top-0 grid items-center gap-3 border-b border-line px-2 hover:bg-hover ${isOpen ? 'bg-chosen' : ''}`}
    >
      {children}
      {lines === undefined ? (
        columns.map((one) => cell(one, side(one)))
      ) : (
        <div className="min-w-0">
          {lines.map((line, at) => (
            <div key={line[0]?.name} className={`flex gap-3 ${at > 0 ? 'text-muted' : ''}`}>
              {line.map((one, nth) => cell(one, inLine(one, nth)))}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** In a line the first cell stands on the left and gives way. The others stand on the right, texts in at most half of it. */
const inLine = (column: { width: string }, at: number): string => {
  const isText = column.width.startsWith('minmax');
  if (at === 0) return `grow truncate ${isText ? 'min-w-0' : 'shrink-0'}`;
  return `shrink-0 truncate ${isText ? 'max-w-1/2' : ''}`;
};
