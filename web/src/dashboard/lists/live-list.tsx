import { type ReactNode, useEffect, useRef } from 'react';
import { plural } from '../../data/delivery-state.ts';
import type { Rows } from '../../data/rows.ts';
import { ProblemView } from '../../parts/query-view.tsx';
import { Skeleton } from '../../ui/page/states.tsx';
import { ColumnChoice, useHiddenColumns } from '../../ui/tables/column-choice.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { DataList, type DataListHandle } from '../../ui/tables/data-list.tsx';
import type { Selection } from '../../ui/tables/tick.tsx';
import { Icon } from '../../ui/text/icon.tsx';
import { useOpenId } from './list-layout.tsx';

interface Props<T> {
  label: string;
  /** The noun of a row, such as `endpoint`. */
  noun: string;
  rows: Rows<T>;
  columns: readonly Column<T>[];
  href(row: T): string;
  /** The name of a row for a screen reader. */
  name(row: T): string;
  /** Shown if there are no rows. */
  empty: ReactNode;
  selection?: Selection | undefined;
}

/** A list in all its states. New rows wait behind a button while the reader is in the list. */
export function LiveList<T extends { uid: string }>(props: Props<T>) {
  const { label, noun, rows, columns, href, name, empty, selection } = props;
  const list = useRef<DataListHandle>(null);
  const open = useOpenId();
  const [hidden, hide] = useHiddenColumns(label);
  // The first column has the link of the row.
  const mayHide = columns.slice(1).map((column) => column.name);
  const count = rows.fresh.length;
  const { showFresh } = rows;
  useEffect(() => {
    if (count > 0 && list.current?.mayGrow() !== false) showFresh();
    // The rows that are new decide, not the function, which is another one each time.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [rows.fresh]);
  if (rows.error !== null && rows.rows.length === 0)
    return <ProblemView error={rows.error} onRetry={rows.refetch} />;
  if (rows.isPending) return <Skeleton label={`Loading ${label.toLowerCase()}`} rows={12} />;
  if (rows.rows.length === 0) return <div className="min-h-0 flex-1 overflow-auto">{empty}</div>;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      {count > 0 && (
        <button
          type="button"
          onClick={() => {
            rows.showFresh();
            list.current?.toTop();
          }}
          className="absolute top-10 left-1/2 z-20 inline-flex h-7 -translate-x-1/2 items-center gap-1 rounded-md bg-accent-ground px-3 font-semibold text-on-accent shadow-md"
        >
          <Icon name="chevron" className="size-3.5 -rotate-90" /> {count >= 100 ? '100+' : count} new
        </button>
      )}
      <DataList
        ref={list}
        label={label}
        rows={rows.rows}
        columns={columns.filter((column) => !hidden.has(column.name))}
        rowKey={(row) => row.uid}
        href={href}
        name={name}
        open={open}
        onEnd={rows.loadMore}
        selection={selection}
      />
      <div className="flex items-center justify-between py-1 text-xs text-muted">
        <span>
          {rows.loadMore === undefined
            ? plural(rows.rows.length, noun)
            : `${rows.rows.length.toLocaleString('en')} loaded`}
        </span>
        <ColumnChoice names={mayHide} hidden={hidden} onChange={hide} />
      </div>
    </div>
  );
}
