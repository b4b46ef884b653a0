import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { errorText } from '../data/explain-error.ts';
import { useToast } from '../ui/controls/toast.tsx';
import { useUiWords } from '../ui/text/words.ts';

/** False: it has been changed since, so it stays as it is. */
type Undone = Promise<unknown>;

/**
 * Something that the reader does. What is on the page is read again after it, and a toast says how it ended. With `undo`
 * the toast offers to put things back as they were. An act that cannot be put back has none.
 */
export function useAct<A = void, R = unknown>(
  act: (argument: A) => Promise<R>,
  done?: (result: R) => ReactNode,
  undo?: (result: R) => Undone,
) {
  const queries = useQueryClient();
  const toast = useToast();
  const words = useUiWords();
  const failed = (error: unknown) => toast(errorText(error), { bad: true });
  const takeBack = async (undone: Undone) => {
    try {
      toast((await undone) === false ? words.changedSince : words.undone);
    } catch (error) {
      failed(error);
    }
    await queries.invalidateQueries();
  };
  return useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      const text = done?.(result);
      if (text !== undefined) toast(text, { undo: undo && (() => void takeBack(undo(result))) });
      return queries.invalidateQueries();
    },
    onError: failed,
  });
}
