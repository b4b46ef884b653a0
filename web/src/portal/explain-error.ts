import { PosthornError } from 'posthorn-client';
import type { Explained } from '../data/explain-error.ts';
import { FieldError } from '../data/field-error.ts';
import type { Messages } from '../parts/languages/en.ts';

/** An error in words, in the reader's language as far as it is known. */
export function explainError({ problem }: Messages, error: unknown): Explained {
  const { requestId, status = 0 } = error instanceof PosthornError ? error : {};
  return { ...wordsFor(problem, error), requestId, mayPass: status !== 401 && status !== 404 };
}

function wordsFor(problem: Messages['problem'], error: unknown): Pick<Explained, 'title' | 'text'> {
  if (error instanceof FieldError) return { title: problem.failed, text: error.message };
  if (!(error instanceof PosthornError)) return { title: problem.fault, text: String(error) };
  if (error.status === 0) return { title: problem.offline, text: problem.offlineText };
  if (error.status === 401) return { title: problem.ended, text: problem.endedText };
  if (error.status === 404) return { title: problem.notFound, text: problem.notFoundText };
  if (error.status === 429) return { title: problem.failed, text: problem.tooOften };
  return { title: problem.failed, text: error.message };
}
