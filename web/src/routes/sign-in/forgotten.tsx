import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { apiOf } from '../../data/session.ts';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

/** Asks for a link for a new password by mail. */
export function Forgotten() {
  const ask = useMutation({
    mutationFn: (email: string) => apiOf().signIn.requestReset({ email }, { retries: 0 }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    ask.mutate(formText(new FormData(event.currentTarget), 'email'));
  };
  if (ask.isSuccess)
    return <p role="status">If there is an account with this email address, an email is on its way.</p>;
  return (
    <form onSubmit={submit} className="grid gap-4">
      <TextField
        label="Your email address"
        name="email"
        inputMode="email"
        required
        autoComplete="username"
        error={ask.error === null ? undefined : errorText(ask.error)}
      />
      <div>
        <Button type="submit" busy={ask.isPending && 'Requesting'}>
          Email a link
        </Button>
      </div>
    </form>
  );
}
