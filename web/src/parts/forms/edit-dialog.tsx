import { type ComponentProps, useRef } from 'react';
import type { Edited } from '../../data/edit/save-change.ts';
import { ActDialog } from '../act-dialog.tsx';
import { useAsOpened, useSave } from './save.ts';

interface Props<T extends object, C extends object>
  extends Omit<ComponentProps<typeof ActDialog>, 'onSubmit' | 'onOpen'> {
  edited: Edited<T, C>;
  /** All fields of the form. What it does not show is taken from the stored resource. */
  changeOf(form: FormData, stored: T): C;
  /** The labels of fields that have none in the form. */
  labels?: Readonly<Record<string, string>>;
}

/** The form of something that is stored. It sends the fields that were changed (`saveChange`). */
export function EditDialog<T extends object, C extends object>({
  edited,
  changeOf,
  labels,
  ...dialog
}: Props<T, C>) {
  const save = useSave();
  const stored = useAsOpened(edited.stored);
  const first = useRef<C>(undefined);
  return (
    <ActDialog
      {...dialog}
      onOpen={(data) => {
        try {
          first.current = changeOf(data, stored);
        } catch {
          // A stored value that the form would refuse: every field that differs from what is stored is sent.
        }
      }}
      onSubmit={(data, form) =>
        save(
          { ...edited, stored },
          { first: first.current, changeOf: (now) => changeOf(data, now), form },
          labels,
        )
      }
    />
  );
}
