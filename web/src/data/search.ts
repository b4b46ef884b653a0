import { useNavigate, useSearch } from '@tanstack/react-router';

/** The search parameters of the address: the filters of a list. All are strings. */
export type Search = Readonly<Record<string, string | undefined>>;

export function useFilters(): readonly [Search, (patch: Search) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (patch: Search) =>
    void navigate({
      to: '.',
      search: ((before: Search) =>
        Object.fromEntries(
          Object.entries({ ...before, ...patch }).filter(([, value]) => (value ?? '') !== ''),
        )) as never,
    });
  return [search, change];
}

/** All filters of a page, empty. */
export const cleared = (search: object): Record<string, string> =>
  Object.fromEntries(Object.keys(search).map((name) => [name, '']));
