import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { errorText } from '../data/explain-error.ts';
import { FormDialog } from '../ui/controls/dialog.tsx';

interface Props {
  /** The act and its object, such as "Delete Billing". The title and the button say it. */
  what: string;
  act(): Promise<unknown>;
  /** The page to go to after it. */
  leadsTo?: string;
  onClose(): void;
  /** The further effects of the act. */
  children: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function DangerDialog({ what, act, leadsTo, onClose, children }: Props) {
  const queries = useQueryClient();
  const router = useRouter();
  const run = async () => {
    await act();
    if (leadsTo !== undefined) router.history.push(leadsTo);
    await queries.invalidateQueries();
  };
  return (
    <FormDialog title={what} action={what} danger onClose={onClose} onSubmit={run} explain={errorText}>
      <p>{children}</p>
    </FormDialog>
  );
}
