import { Outlet, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useFilters } from '../../data/search.ts';
import { Icon } from '../../ui/text/icon.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';

/** The id of the row that is open, if one is. */
export const useOpenId = (): string | undefined => (useParams({ strict: false }) as { id?: string }).id;

/** A list, and next to it the row that is open. On narrow screens the row covers the list, which stays as it is. */
export function ListLayout({ children }: { children: ReactNode }) {
  const id = useOpenId();
  return (
    <div className="flex h-full min-h-0">
      <div
        className={`h-full min-w-0 flex-col px-4 pt-3 ${id === undefined ? 'flex w-full' : 'hidden w-5/12 wide:flex'}`}
      >
        {children}
      </div>
      {id !== undefined && (
        // The key starts each row at its top.
        <div
          key={id}
          className="h-full min-w-0 flex-1 overflow-auto border-line px-4 pt-3 pb-10 wide:border-l"
        >
          <Outlet />
        </div>
      )}
    </div>
  );
}

/** Goes back to the list with its filters. */
export function BackToList({ href, label }: { href: string; label: string }) {
  const [search] = useFilters();
  return (
    <Link href={withSearch(href, search)} className="link mb-1 inline-flex items-center gap-1 text-xs">
      <Icon name="chevron" className="size-3 rotate-180" /> {label}
    </Link>
  );
}
