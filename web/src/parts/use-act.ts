import { errorText } from '../data/explain-error.ts';
import { type Act, useActWith } from '../ui/controls/use-act.ts';

/** An act of the reader, with its errors in the words of the dashboard. */
export function useAct<A = void, R = unknown>(
  act: Act<A, R>['act'],
  done?: Act<A, R>['done'],
  undo?: Act<A, R>['undo'],
) {
  return useActWith<A, R>({ act, done, undo, errorText });
}
