import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useUiWords } from '../text/words.ts';
import { useToast } from './toast.tsx';

export interface Act<A, R> {
  act(argument: A): Promise<R>;
  /** The text of the toast. Undefined: there is none. */
  done?: ((result: R) => ReactNode) | undefined;
  /** Puts things back as they were. False: they have been changed since and stay as they are. */
  undo?: ((result: R) => Promise<unknown>) | undefined;
  errorText(error: unknown): string;
}

/**
 * Something that the reader does. What is on the page is read again after it, and a toast says how it ended. With `undo`
 * the toast offers to put things back. An act that cannot be put back has none.
 */
export function useActWith<A, R>({ act, done, undo, errorText }: Act<A, R>) {
  const queries = useQueryClient();
  const toast = useToast();
  const words = useUiWords();
  const failed = (error: unknown) => toast(errorText(error), { bad: true });
  const takeBack = async (undone: Promise<unknown>) => {
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
