import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ComponentProps, ReactNode } from 'react';
import { Button } from '../ui/controls/button.tsx';
import { useToast } from '../ui/controls/toast.tsx';
import { useUiWords } from '../ui/text/words.ts';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

/**
 * Something that the reader does. What is on the page is read again after it, and a toast says how it ended: what `done`
 * words, or nothing. With `undo` the toast offers to put things back as they were. False means that they have been changed
 * since and stay as they are. An act that cannot be put back has none.
 */
export function useAct<A = void, R = unknown>(
  act: (argument: A) => Promise<R>,
  done?: (result: R) => ReactNode,
  undo?: (result: R) => Promise<unknown>,
) {
  const queries = useQueryClient();
  const toast = useToast();
  const words = useUiWords();
  const { explain } = useSite();
  const failed = (error: unknown) => toast(explain(error).text, { bad: true });
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

interface Props<R> extends Omit<ComponentProps<typeof Button>, 'onClick'> {
  act(): Promise<R>;
  /** How it ended, in words. */
  done?(result: R): ReactNode;
  undo?(result: R): Promise<unknown>;
}

/** A button for one act (`useAct`). */
export function ActButton<R>({ act, done, undo, busy, ...button }: Props<R>) {
  const { asking } = useWords().deliveries;
  const run = useAct(act, done, undo);
  return <Button {...button} busy={run.isPending && (busy || asking)} onClick={() => run.mutate()} />;
}
