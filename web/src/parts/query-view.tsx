import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorPanel, Skeleton } from '../ui/page/states.tsx';
import { Link } from '../ui/text/link.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

/** The words for a failed call. No page is left blank by it. */
export function ProblemView({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, text, requestId, leadsTo, mayPass } = useSite().explain(error);
  if (leadsTo !== undefined)
    return (
      <section role="alert" className="my-4 grid gap-2">
        <h2 className="text-base">{title}</h2>
        <p>
          {text}{' '}
          <Link href={leadsTo.href} className="link">
            {leadsTo.name}
          </Link>
        </p>
      </section>
    );
  return (
    <ErrorPanel title={title} text={text} requestId={requestId} onRetry={mayPass ? onRetry : undefined} />
  );
}

interface Props<T> {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>;
  /** The text while it loads, such as "Loading the endpoint". */
  label?: string;
  rows?: number;
  children(data: T): ReactNode;
}

/** The data of a query, or what it is waiting for, or why there is none. */
export function QueryView<T>({ query, label, rows = 6, children }: Props<T>) {
  const { loading } = useWords();
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <ProblemView error={query.error} onRetry={() => void query.refetch()} />;
  return <Skeleton label={label ?? loading} rows={rows} />;
}
