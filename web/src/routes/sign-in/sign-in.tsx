import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { refusalText } from '../../data/explain-error.ts';
import { apiOf, needsCode, signIn, signInWithKey } from '../../data/session.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { Icon } from '../../ui/text/icon.tsx';

/** Runs a sign-in and goes to the overview, or says what is wrong. */
function useEntry() {
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

export function SignIn() {
  const ways = useQuery({ queryKey: ['ways'], queryFn: () => apiOf().signIn.listProviders() });
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center gap-5 p-4">
      <h1 className="flex items-center gap-2 text-lg">
        <Icon name="horn" className="size-6 text-accent" /> Posthorn
      </h1>
      {ways.data?.password !== false && <PasswordForm />}
      {ways.data?.providers.map(({ name, title, url }) => (
        <a key={name} href={url} className="underline">
          Sign in with {title}
        </a>
      ))}
      <p className="text-muted">No account yet? This command prints a link that signs you in:</p>
      <CodeBlock label="Command" text="npx posthorn sign-in-link" />
      <details>
        <summary className="cursor-pointer">Sign in with an API key</summary>
        <div className="pt-3">
          <KeyForm />
        </div>
      </details>
    </main>
  );
}

function PasswordForm() {
  const { enter, busy, error, text } = useEntry();
  const asksCode = needsCode(error);
  const submit = (form: FormData) => {
    const code = formText(form, 'code');
    return signIn({
      email: formText(form, 'email'),
      password: formText(form, 'password'),
      ...(code === '' ? {} : { code }),
    });
  };
  return (
    <form onSubmit={(event) => enter(event, submit)} className="grid gap-4">
      {/* Not of type email: browsers refuse addresses with letters beyond ASCII. */}
      <TextField label="E-mail address" name="email" inputMode="email" required autoComplete="username" />
      <TextField
        label="Password"
        name="password"
        type="password"
        required
        autoComplete="current-password"
        error={asksCode ? undefined : text}
      />
      {asksCode && (
        <TextField label="Code of the second factor" name="code" required autoComplete="one-time-code" />
      )}
      <div>
        <Button type="submit" look="main" busy={busy && 'Signing in'}>
          Sign in
        </Button>
      </div>
    </form>
  );
}

function KeyForm() {
  const { enter, busy, text } = useEntry();
  return (
    <form
      onSubmit={(event) => enter(event, (form) => signInWithKey(formText(form, 'key')))}
      className="grid gap-4"
    >
      <TextField
        label="API key"
        name="key"
        type="password"
        required
        autoComplete="off"
        error={text}
        hint="A key of a project, or the instance key. It stays in this tab."
      />
      <div>
        <Button type="submit" busy={busy && 'Signing in'}>
          Use the key
        </Button>
      </div>
    </form>
  );
}
