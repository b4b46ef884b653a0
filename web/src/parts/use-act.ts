import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { errorText } from '../data/explain-error.ts';
import { useToast } from '../ui/controls/toast.tsx';

/** Something that the reader does. What is on the page is read again after it, and a toast says how it ended. */
export function useAct<A = void, R = unknown>(
  act: (argument: A) => Promise<R>,
  done?: (result: R) => ReactNode,
) {
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      const text = done?.(result);
      if (text !== undefined) toast(text);
      return queries.invalidateQueries();
    },
    onError: (error) => toast(errorText(error), true),
  });
}
