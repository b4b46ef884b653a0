import { useQuery } from '@tanstack/react-query';
import type { Posthorn } from 'posthorn-client';
import type { ReactNode } from 'react';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { BackToList, useOpenId } from './list-layout.tsx';

interface Props<T> {
  /** The address of the list, and its title. */
  list: string;
  title: string;
  /** The noun of a row, such as `endpoint`. */
  noun: string;
  load(api: Posthorn, id: string): Promise<T>;
  /** It is read again so often. Undefined: it is not, or no more. */
  everyMs?(row: T | undefined): number | undefined;
  children(row: T): ReactNode;
}

/** The row of a list that is open. */
export function RowPage<T>({ list, title, noun, load, everyMs, children }: Props<T>) {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const row = useQuery({
    queryKey: [project, noun, id],
    queryFn: () => load(api, id),
    refetchInterval: ({ state: { data } }) => everyMs?.(data as T | undefined) ?? false,
  });
  return (
    <>
      <BackToList href={at(list)} label={title} />
      <QueryView query={row} label={`Loading the ${noun}`} rows={10}>
        {children}
      </QueryView>
    </>
  );
}
