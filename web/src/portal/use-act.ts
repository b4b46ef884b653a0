import { type Act, useActWith } from '../ui/controls/use-act.ts';
import { explain } from './query-view.tsx';
import { useWords } from './words.ts';

/** An act of the reader, with its errors in the reader's language. */
export function useAct<A = void, R = unknown>(
  act: Act<A, R>['act'],
  done?: Act<A, R>['done'],
  undo?: Act<A, R>['undo'],
) {
  const words = useWords();
  return useActWith<A, R>({ act, done, undo, errorText: (error) => explain(words, error).text });
}
