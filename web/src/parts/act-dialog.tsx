import { useQueryClient } from '@tanstack/react-query';
import { type ComponentProps, isValidElement, type ReactNode } from 'react';
import { fieldProblems } from '../data/explain-error.ts';
import { FormDialog } from '../ui/controls/dialog.tsx';
import { useGo } from '../ui/text/link.tsx';
import { useSite } from './site.ts';

interface ActProps extends Omit<ComponentProps<typeof FormDialog>, 'explain' | 'problems'> {
  /** The words for an error, if they are others than those of the page. */
  explain?(error: unknown): string;
}

/** A dialog whose act changes what is on the page, which is read again after it. */
export function ActDialog({ onSubmit, explain, ...rest }: ActProps) {
  const site = useSite();
  const queries = useQueryClient();
  const submit = async (data: FormData, form: HTMLFormElement) => {
    const next = await onSubmit(data, form);
    const read = queries.invalidateQueries();
    // The form closes over fresh data. What takes its place, such as a new key, does not wait.
    if (!isValidElement(next)) await read;
    return next;
  };
  return (
    <FormDialog
      {...rest}
      onSubmit={submit}
      explain={explain ?? ((error) => site.explain(error).text)}
      problems={fieldProblems}
    />
  );
}

interface DangerProps {
  /** The act and its object, such as "Delete Billing". The title and the button say it. */
  what: string;
  act(): Promise<unknown>;
  /** The page to go to after it. */
  leadsTo?: string;
  onClose(): void;
  /** Further effects of the act. */
  children: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function DangerDialog({ what, act, leadsTo, onClose, children }: DangerProps) {
  const go = useGo();
  const run = async () => {
    await act();
    if (leadsTo !== undefined) go(leadsTo);
  };
  return (
    <ActDialog title={what} action={what} danger onClose={onClose} onSubmit={run}>
      <p>{children}</p>
    </ActDialog>
  );
}
