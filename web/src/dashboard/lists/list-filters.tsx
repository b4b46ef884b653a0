import { useContext } from 'react';
import { cleared, type Search, useFilters } from '../../data/search.ts';
import type { TimeRange } from '../../data/time-range.ts';
import type { Choice } from '../../ui/controls/fields.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';
import { TimeStyleContext } from '../../ui/text/time.tsx';
import { EndpointFilter, SourceFilter } from './resource-filter.tsx';
import { SavedViews } from './saved-views.tsx';
import { rangeOf, TimeFilter } from './time-filter.tsx';

/** A filter of a list: its control, and its part of the query. The address has it under its name in the table. */
export interface ListFilter<Q> {
  /** Absent: no control shows it. A link sets it. */
  label?: string;
  /** Absent: a text is typed, or one of the choices is taken. */
  control?: 'time' | 'endpoint' | 'source';
  choices?: readonly Choice[];
  isWide?: boolean;
  /** The value while none is set. */
  usual?: string;
  query(value: string, utc: boolean): Q;
}

export type ListFilters<Q> = Readonly<Record<string, ListFilter<Q>>>;

export const TIME: ListFilter<TimeRange> = { label: 'Time', control: 'time', query: rangeOf };
export const CUSTOMER: ListFilter<{ ownerId?: string }> = {
  label: 'Customer',
  query: (ownerId) => ({ ownerId }),
};

interface Filtered<Q> {
  table: ListFilters<Q>;
  search: Search;
  change(patch: Search): void;
  query: Q;
  isFiltered: boolean;
  clear(): void;
}

/** The filters of the address, and the query that they make. */
export function useListFilters<Q extends object>(table: ListFilters<Q>): Filtered<Q> {
  const [search, change] = useFilters();
  const { utc } = useContext(TimeStyleContext);
  const parts = Object.entries(table).map(([name, { usual, query }]) => {
    const value = search[name] ?? usual;
    return value === undefined ? {} : query(value, utc);
  });
  return {
    table,
    search,
    change,
    query: Object.assign({}, ...parts) as Q,
    isFiltered: Object.keys(search).length > 0,
    clear: () => change(cleared(search)),
  };
}

interface BarProps {
  filtered: Pick<Filtered<unknown>, 'table' | 'search' | 'change'>;
  /** The page whose filters can be saved as views. */
  viewsOf?: string | undefined;
}

export function ListFilterBar({ filtered: { table, search, change }, viewsOf }: BarProps) {
  const controls = Object.entries(table)
    .filter(([, { label }]) => label !== undefined)
    .map(([name, filter]) => (
      <Control
        key={name}
        filter={filter}
        value={search[name] ?? filter.usual ?? ''}
        onChange={(value) => change({ [name]: value })}
      />
    ));
  if (viewsOf !== undefined) controls.push(<SavedViews key="" page={viewsOf} />);
  return <FilterBar set={Object.keys(search).length}>{controls}</FilterBar>;
}

interface ControlProps {
  filter: ListFilter<unknown>;
  value: string;
  onChange(value: string): void;
}

function Control({ filter: { label = '', control, choices, isWide = false }, ...given }: ControlProps) {
  if (control === 'time') return <TimeFilter {...given} />;
  if (control === 'endpoint') return <EndpointFilter {...given} />;
  if (control === 'source') return <SourceFilter {...given} />;
  if (choices !== undefined) return <FilterSelect {...{ label, choices }} {...given} />;
  return <FilterText label={label} wide={isWide} {...given} />;
}
