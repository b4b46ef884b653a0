import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { explainError } from '../data/explain-error.ts';
import { ErrorPanel, Skeleton } from '../ui/page/states.tsx';
import { Link } from '../ui/text/link.tsx';

/** The words for a failed call. No page is left blank by it. */
export function ProblemView({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, text, requestId, kind } = explainError(error);
  if (kind === 'signed-out' || kind === 'second-factor') {
    const [href, name] = kind === 'signed-out' ? ['/sign-in', 'Sign in'] : ['/account', 'Your account'];
    return (
      <section role="alert" className="my-4 grid gap-2">
        <h2 className="text-base">{title}</h2>
        <p>
          {text}{' '}
          <Link href={href} className="link">
            {name}
          </Link>
        </p>
      </section>
    );
  }
  return (
    <ErrorPanel
      title={title}
      text={text}
      requestId={requestId}
      onRetry={kind === 'other' ? onRetry : undefined}
    />
  );
}

interface Props<T> {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'isPending' | 'refetch'>;
  label: string;
  rows?: number;
  children(data: T): ReactNode;
}

/** The data of a query, or what it is waiting for, or why there is none. */
export function QueryView<T>({ query, label, rows, children }: Props<T>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null) return <ProblemView error={query.error} onRetry={() => void query.refetch()} />;
  return <Skeleton label={label} {...(rows === undefined ? {} : { rows })} />;
}
