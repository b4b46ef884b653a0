import type { Page, Posthorn } from 'posthorn-client';
import { type ReactNode, useState } from 'react';
import { useProject } from '../../data/project.ts';
import { type PageQuery, useRows } from '../../data/rows.ts';
import type { News } from '../../data/service/live.ts';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import type { Selection } from '../../ui/tables/tick.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { May } from '../may.tsx';
import { type Adding, EmptyList } from './empty-list.tsx';
import { ListFilterBar, type ListFilters, useListFilters } from './list-filters.tsx';
import { ListLayout } from './list-layout.tsx';
import { LiveList } from './live-list.tsx';

interface Props<T, Q extends object> {
  title: string;
  /** Its address in the project. */
  page: string;
  /** The noun of a row, such as `endpoint`. */
  noun: string;
  filters?: ListFilters<Q>;
  hasViews?: true;
  columns: readonly Column<T>[];
  load(api: Posthorn, query: Q & PageQuery): { page(): Promise<Page<T>> };
  /** The stream tells of new rows. Readers can stop it. */
  news?: News;
  /** The name of a row for a screen reader. */
  name(row: T): string;
  /** How readers add a row. */
  add?: Adding;
  /** Shown if there are no rows, and no filter hides them. */
  empty?: ReactNode;
  acts?(query: Q): ReactNode;
  selection?: Selection | undefined;
  /** The acts on the rows that are chosen. */
  chosen?(rows: readonly T[]): ReactNode;
}

/** A list of a project as its table describes it: filters in the address, columns, and the row that is open. */
export function ResourceList<T extends { uid: string }, Q extends object = object>(props: Props<T, Q>) {
  const { title, page, noun, filters = {}, load, news, acts, chosen, add: adding } = props;
  const { api, id, at } = useProject();
  const filtered = useListFilters<Q>(filters);
  const { query, search, isFiltered, clear } = filtered;
  const [live, setLive] = useState(true);
  const rows = useRows<T>({
    key: [id, page, query],
    load: (part) => load(api, { ...query, ...part }).page(),
    live,
    ...(news && { news }),
  });
  const add = useAdding(noun, adding);
  const none = adding ? <EmptyList {...{ noun, add: adding }}>{add.button}</EmptyList> : props.empty;
  return (
    <ListLayout>
      <PageHead title={title}>
        {news !== undefined && <LiveSwitch live={live} onChange={setLive} />}
        {acts?.(query)}
        {add.button}
      </PageHead>
      {Object.keys(filters).length > 0 && (
        <ListFilterBar filtered={filtered} viewsOf={props.hasViews && page} />
      )}
      {chosen?.(rows.rows)}
      <LiveList
        {...{ noun, rows, columns: props.columns, selection: props.selection, name: props.name }}
        label={title}
        href={({ uid }) => withSearch(at(`${page}/${uid}`), search)}
        empty={isFiltered ? <NoMatch noun={noun} hasTime={'time' in filters} onClear={clear} /> : none}
      />
      {add.dialog}
    </ListLayout>
  );
}

const LiveSwitch = ({ live, onChange }: { live: boolean; onChange(live: boolean): void }) => (
  <Button look="quiet" icon={live ? 'pause' : 'play'} onClick={() => onChange(!live)} aria-pressed={live}>
    {live ? 'Live' : 'Paused'}
  </Button>
);

/** The button and its dialog, which stays when the list is empty no more. */
function useAdding(noun: string, adding: Adding | undefined): { button?: ReactNode; dialog?: ReactNode } {
  const [open, setOpen] = useState(false);
  if (adding === undefined) return {};
  const { use, form: Form } = adding;
  const button = (
    <May use={use}>
      <Button look="main" icon="plus" onClick={() => setOpen(true)}>
        Add {noun}
      </Button>
    </May>
  );
  return { button, dialog: open && <Form onClose={() => setOpen(false)} /> };
}

function NoMatch({ noun, hasTime, onClear }: { noun: string; hasTime: boolean; onClear(): void }) {
  return (
    <EmptyState
      title={`No ${noun} matches these filters`}
      text={
        hasTime
          ? 'Look further back in time, or take a filter away.'
          : 'Take a filter away to see the others.'
      }
    >
      <Button onClick={onClear}>Clear filters</Button>
    </EmptyState>
  );
}
