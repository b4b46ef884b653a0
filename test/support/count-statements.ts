import { onTestFinished } from 'vitest';
import { statements } from '../../src/store/database/database.ts';

/** Counts the statements like this one that nodes in this process make from now on. */
export function countStatements(like: RegExp): () => number {
  let count = 0;
  const add = (text: unknown): void => {
    if (like.test(text as string)) count += 1;
  };
  statements.subscribe(add);
  onTestFinished(() => {
    statements.unsubscribe(add);
  });
  return () => count;
}
