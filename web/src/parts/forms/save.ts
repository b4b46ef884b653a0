import { useContext, useState } from 'react';
import { type Edit, type Edited, saveChange } from '../../data/edit/save-change.ts';
import { useWords } from '../words.ts';
import { ClashContext, shownClashes } from './clashes.tsx';

type Given<T extends object, C extends object> = Pick<Edit<T, C>, 'first' | 'changeOf'> & {
  /** The labels of the fields are in it. */
  form?: HTMLFormElement | undefined;
};

/** The value that a form began with. The page reads on, and the form keeps it. */
export const useAsOpened = <T extends object>(value: T): T => useState(value)[0];

/** The value that a form on a page shows: the newest, until the reader types. */
export function useUntilTyped<T extends object>(newest: T, isTyped: boolean): T {
  const [shown, setShown] = useState(newest);
  if (!isTyped && shown !== newest) setShown(newest);
  return isTyped ? shown : newest;
}

/** Saves the fields that were changed. Where another one has changed them too, the reader chooses. */
export function useSave() {
  const ask = useContext(ClashContext);
  const words = useWords();
  return <T extends object, C extends object>(
    edited: Edited<T, C>,
    { form, ...given }: Given<T, C>,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<T> =>
    saveChange(edited, {
      ...given,
      choose: (clashes) => ask(shownClashes(clashes, { form, labels, words })),
    });
}
