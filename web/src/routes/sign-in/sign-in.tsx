import { useQuery } from '@tanstack/react-query';
import { useLocation, useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { apiOf, needsCode, signIn, signInWithKey } from '../../data/session.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';
import { Icon } from '../../ui/text/icon.tsx';
import { Forgotten } from './forgotten.tsx';
import { LinkForm } from './link-form.tsx';
import { useEntry } from './use-entry.ts';

/** The part of the address after its #: the token of a link, or why a provider did not let the person in. */
function useGiven(): { token: string | null; refusal: string | null; forget(): void } {
  const { hash } = useLocation();
  const { history } = useRouter();
  const [given, setGiven] = useState('');
  if (hash !== '' && hash !== given) setGiven(hash);
  // The token leaves the address, so that it is not in the history.
  useEffect(() => {
    if (hash !== '') history.replace('/sign-in');
  }, [hash, history]);
  const read = new URLSearchParams(given);
  return { token: read.get('link'), refusal: read.get('error'), forget: () => setGiven('') };
}

const REFUSALS: Readonly<Record<string, string>> = {
  provider_refused: 'The sign-in at the provider was refused or took too long. Begin again.',
  provider_unverified: 'The provider has not confirmed your email address.',
  provider_domain: 'Addresses of your domain may not sign in here.',
  provider_no_account: 'There is no account with your address. Ask an administrator for an invitation.',
  provider_unavailable: 'The provider cannot be reached. Try again.',
};

export function SignIn() {
  const { token, refusal, forget } = useGiven();
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center gap-5 p-4">
      <h1 className="flex items-center gap-2 text-lg">
        <Icon name="horn" className="size-6 text-accent" /> Posthorn
      </h1>
      {refusal !== null && (
        <p role="alert" className="text-bad">
          {REFUSALS[refusal] ?? 'The sign-in failed. Begin again.'}
        </p>
      )}
      {token === null ? <Ways /> : <LinkForm key={token} token={token} onLeave={forget} />}
    </main>
  );
}

function Ways() {
  const ways = useQuery({ queryKey: ['ways'], queryFn: () => apiOf().signIn.listProviders() });
  return (
    <>
      {ways.data?.password !== false && <PasswordForm />}
      {ways.data?.providers.map(({ name, title, url }) => (
        <a key={name} href={url} className="underline">
          Sign in with {title}
        </a>
      ))}
      {ways.data?.reset_by_mail === true && (
        <details>
          <summary className="cursor-pointer">Forgot your password?</summary>
          <div className="pt-3">
            <Forgotten />
          </div>
        </details>
      )}
      <p className="text-muted">No account yet? This command prints a link that signs you in:</p>
      <CodeBlock label="Command" text="npx posthorn sign-in-link" />
      <details>
        <summary className="cursor-pointer">Sign in with an API key</summary>
        <div className="pt-3">
          <KeyForm />
        </div>
      </details>
    </>
  );
}

function PasswordForm() {
  const { enter, busy, error, text } = useEntry();
  const asksCode = needsCode(error);
  const submit = (form: FormData) => {
    const code = formText(form, 'code');
    return signIn({
      email: formText(form, 'email'),
      password: asTyped(form, 'password'),
      ...(code === '' ? {} : { code }),
    });
  };
  return (
    <form onSubmit={(event) => enter(event, submit)} className="grid gap-4">
      {/* Not of type email: browsers refuse addresses with letters beyond ASCII. */}
      <TextField label="Email address" name="email" inputMode="email" required autoComplete="username" />
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
