import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useToast } from '../ui/controls/toast.tsx';
import { explain } from './query-view.tsx';
import { useWords } from './words.ts';

/** Something that the reader does. The page is read again after it, and a toast says how it ended. */
export function useAct<A = void, R = unknown>(
  act: (argument: A) => Promise<R>,
  done?: (result: R) => string,
) {
  const queries = useQueryClient();
  const toast = useToast();
  const words = useWords();
  return useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      if (done !== undefined) toast(done(result));
      return queries.invalidateQueries();
    },
    onError: (error) => toast(explain(words, error).text, true),
  });
}
