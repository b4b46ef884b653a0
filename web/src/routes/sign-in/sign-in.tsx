import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { signIn } from '../../data/session.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { TextField } from '../../ui/fields.tsx';
import { formText } from '../../ui/form-text.ts';
import { Icon } from '../../ui/icon.tsx';

export function SignIn() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = formText(new FormData(event.currentTarget), 'key');
    setBusy(true);
    setError(undefined);
    signIn(key).then(
      () => {
        queries.clear();
        void navigate({ to: '/' });
      },
      (reason: unknown) => {
        setBusy(false);
        setError(errorText(reason));
      },
    );
  };
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center gap-5 p-4">
      <h1 className="flex items-center gap-2 text-lg">
        <Icon name="horn" className="size-6 text-accent" /> Posthorn
      </h1>
      <form onSubmit={submit} className="grid gap-4">
        <TextField
          label="API key"
          name="key"
          type="password"
          required
          autoComplete="off"
          error={error}
          hint="A key of a project, or the instance key. It stays in this tab."
        />
        <div>
          <Button type="submit" look="main" busy={busy && 'Signing in'}>
            Sign in
          </Button>
        </div>
      </form>
      <div className="grid gap-2 text-muted">
        <p>The first start wrote a key. In the folder where Posthorn was started:</p>
        <CodeBlock
          label="Command"
          text="node -p &quot;require('./.posthorn/credentials.json').instance_key&quot;"
        />
      </div>
    </main>
  );
}
