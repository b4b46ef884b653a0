import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { refusalText } from '../../data/explain-error.ts';

/** Runs a sign-in and goes to the overview, or says what is wrong. */
export function useEntry() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const enter = (event: FormEvent<HTMLFormElement>, work: (form: FormData) => Promise<void>) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    work(new FormData(event.currentTarget)).then(
      () => {
        queries.clear();
        void navigate({ to: '/' });
      },
      (reason: unknown) => {
        setBusy(false);
        setError(reason);
      },
    );
  };
  return { enter, busy, error, text: error === undefined ? undefined : refusalText(error) };
}
