import { useQuery } from '@tanstack/react-query';
import type { CheckLinkResult } from 'posthorn-client';
import { refusalText } from '../../data/explain-error.ts';
import { apiOf, followLink, needsCode } from '../../data/session.ts';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';
import { Skeleton } from '../../ui/page/states.tsx';
import { useEntry } from './use-entry.ts';

/** The use of an invitation, reset or sign-in link. */
export function LinkForm({ token, onLeave }: { token: string; onLeave(): void }) {
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: () => apiOf().signIn.checkLink({ token }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (link.data !== undefined) return <UseLink token={token} link={link.data} />;
  if (link.error === null) return <Skeleton label="Checking the link" rows={3} />;
  return (
    <div className="grid gap-3">
      <p role="alert">{refusalText(link.error)}</p>
      <div>
        <Button onClick={onLeave}>Sign in another way</Button>
      </div>
    </div>
  );
}

function UseLink({ token, link }: { token: string; link: CheckLinkResult }) {
  const { enter, busy, error, text } = useEntry();
  const asksCode = link.needs_code || needsCode(error);
  const submit = (form: FormData) =>
    followLink({
      token,
      ...(link.needs_password && { password: asTyped(form, 'password'), name: formText(form, 'name') }),
      ...(asksCode && { code: formText(form, 'code') }),
    });
  return (
    <form onSubmit={(event) => enter(event, submit)} className="grid gap-4">
      <p>
        {link.needs_password ? 'Choose a password for ' : 'Sign in as '}
        <b className="break-words">{link.email}</b>.
      </p>
      {link.needs_password && (
        <>
          <TextField label="Name" name="name" defaultValue={link.name} autoComplete="name" maxLength={256} />
          <TextField
            label="Password"
            name="password"
            type="password"
            required
            autoComplete="new-password"
            hint="At least 12 characters."
          />
        </>
      )}
      {asksCode && (
        <TextField label="Code of the second factor" name="code" required autoComplete="one-time-code" />
      )}
      {text !== undefined && (
        <p role="alert" className="text-bad">
          {text}
        </p>
      )}
      <div>
        <Button type="submit" look="main" busy={busy && 'Signing in'}>
          Sign in
        </Button>
      </div>
    </form>
  );
}
