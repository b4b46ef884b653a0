import type { ReactNode } from 'react';
import { useUiWords } from '../text/words.ts';

export interface TableColumn<T> {
  name: string;
  cell(row: T): ReactNode;
  /** The most room that its cells take. */
  most?: 'max-w-36' | 'max-w-56';
  /** Where the columns have no room side by side it is left out first. */
  isMinor?: boolean;
}

const CELL = 'h-8 truncate';
const MINOR = '@lg:@max-6xl:hidden';
/** Buttons are never cut. */
const ACTS = 'h-8 whitespace-nowrap';
const TIGHT = 'px-1 sm:px-2';
const IN_BLOCK =
  '@max-lg:flex @max-lg:h-auto @max-lg:min-h-6 @max-lg:max-w-none @max-lg:gap-3 @max-lg:px-0 @max-lg:whitespace-normal';
const NAMED =
  '@max-lg:before:w-28 @max-lg:before:shrink-0 @max-lg:before:text-muted @max-lg:before:content-[attr(data-name)]';

interface Props<T> {
  label: string;
  rows: readonly T[];
  columns: readonly TableColumn<T>[];
  rowKey(row: T): string;
  /** Its values are a few characters long, so it stays a table on a narrow screen. */
  isTight?: boolean;
}

/** A short table: every row is in the document. On a narrow screen each row is a block of named values. */
export function PlainTable<T>({ label, rows, columns, rowKey, isTight = false }: Props<T>) {
  const words = useUiWords();
  const inBlock = (classes: string): string => (isTight ? '' : classes);
  return (
    // It may scroll sideways, so it must be reachable by keyboard.
    <div className="@container relative overflow-x-auto" tabIndex={0} role="region" aria-label={label}>
      <table className={`w-full border-t border-line text-left ${inBlock('@max-lg:block')}`}>
        <thead className={`border-b border-line bg-panel text-xs text-muted ${inBlock('@max-lg:sr-only')}`}>
          <tr>
            {columns.map(({ name, isMinor = false }) => (
              <th
                key={name}
                scope="col"
                className={`h-8 font-normal ${isMinor ? MINOR : ''} ${isTight ? TIGHT : 'px-2 whitespace-nowrap'}`}
              >
                {name === '' ? <span className="sr-only">{words.acts}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className={inBlock('@max-lg:block')}>
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className={`border-b border-line hover:bg-hover ${inBlock('@max-lg:block @max-lg:py-1.5')}`}
            >
              {columns.map(({ name, cell, most = 'max-w-72', isMinor = false }) => (
                <td
                  key={name}
                  {...(name === '' ? {} : { 'data-name': name })}
                  className={`${name === '' ? ACTS : `${CELL} ${most}`} ${isMinor ? MINOR : ''} ${isTight ? TIGHT : `px-2 ${IN_BLOCK} ${name === '' ? 'text-right' : NAMED}`}`}
                >
                  <span className={`contents ${inBlock('@max-lg:block @max-lg:min-w-0 @max-lg:flex-1')}`}>
                    {cell(row)}
                  </span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
