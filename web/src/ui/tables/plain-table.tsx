import type { ReactNode } from 'react';
import { useUiWords } from '../text/words.ts';

export interface TableColumn<T> {
  name: string;
  cell(row: T): ReactNode;
}

/** A short table: every row is in the document. */
export function PlainTable<T>({
  label,
  rows,
  columns,
  rowKey,
}: {
  label: string;
  rows: readonly T[];
  columns: readonly TableColumn<T>[];
  rowKey(row: T): string;
}) {
  const words = useUiWords();
  return (
    // It scrolls sideways on a narrow screen, so it must be reachable by keyboard.
    <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label={label}>
      <table className="w-full text-left">
        <thead className="border-y border-line bg-panel text-xs text-muted">
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="h-8 px-2 font-normal whitespace-nowrap">
                {name === '' ? <span className="sr-only">{words.acts}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="border-b border-line hover:bg-hover">
              {columns.map(({ name, cell }) => (
                <td key={name} className="h-8 max-w-72 truncate px-2">
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
