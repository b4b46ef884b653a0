import type { UseQueryResult } from '@tanstack/react-query';
import { PosthornError } from 'posthorn-client';
import type { ReactNode } from 'react';
import { ErrorPanel, Skeleton } from '../ui/page/states.tsx';
import type { Messages } from './languages/en.ts';
import { useWords } from './words.ts';

/** An error in the reader's language, as far as it is known. */
export function explain(words: Messages, error: unknown): { title: string; text: string } {
  const { problem } = words;
  if (!(error instanceof PosthornError)) return { title: problem.fault, text: String(error) };
  if (error.status === 0) return { title: problem.offline, text: problem.offlineText };
  if (error.status === 401) return { title: problem.ended, text: problem.endedText };
  if (error.status === 404) return { title: problem.notFound, text: problem.notFoundText };
  if (error.status === 429) return { title: problem.failed, text: problem.tooOften };
  return { title: problem.failed, text: error.message };
}

interface Props<T> {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>;
  rows?: number;
  children(data: T): ReactNode;
}

/** The data of a query, or that it is loading, or why there is none. */
export function QueryView<T>({ query, rows = 4, children }: Props<T>) {
  const words = useWords();
  if (query.data !== undefined) return children(query.data);
  if (query.error === null) return <Skeleton label={words.loading} rows={rows} />;
  const { title, text } = explain(words, query.error);
  const requestId = query.error instanceof PosthornError ? query.error.requestId : undefined;
  return <ErrorPanel {...{ title, text, requestId }} onRetry={() => void query.refetch()} />;
}
