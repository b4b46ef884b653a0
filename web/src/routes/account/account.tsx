import { useQuery } from '@tanstack/react-query';
import type { Me } from 'posthorn-client';
import { type FormEvent, useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { refusalText } from '../../data/explain-error.ts';
import { useMe } from '../../data/project.ts';
import { apiOf } from '../../data/session.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { useAct } from '../../parts/acts.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';
import { useToast } from '../../ui/controls/toast.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { OwnSessions } from './own-sessions.tsx';
import { SecondFactor } from './second-factor.tsx';

/** The page of people's own account. */
export function Account() {
  const { person } = useMe();
  const account = useQuery({
    queryKey: ['account'],
    queryFn: () => apiOf().ownAccount.getMe(),
    enabled: person !== null,
  });
  return (
    <PageBody>
      <PageHead title="Your account" />
      {person === null ? (
        <EmptyState
          title="You are signed in with a key"
          text="Only people have an account. Sign out, and sign in with an email address."
        />
      ) : (
        <QueryView query={account} label="Loading your account">
          {(me) => (
            <div className="max-w-3xl">
              <Name key={me.person.name} me={me} />
              <Password me={me} />
              <SecondFactor me={me} />
              <OwnSessions />
            </div>
          )}
        </QueryView>
      )}
    </PageBody>
  );
}

function Name({ me: { person } }: { me: Me }) {
  const save = useAct(
    (form: FormData) => apiOf().ownAccount.updateMe({ name: formText(form, 'name') }),
    () => 'Name saved',
    () => apiOf().ownAccount.updateMe({ name: person.name }),
  );
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={submit} className="grid max-w-sm gap-3">
      <TextField
        label="Name"
        name="name"
        defaultValue={person.name}
        autoComplete="name"
        hint={`You sign in as ${person.email}. An administrator can change the address.`}
      />
      <div>
        <Button type="submit" busy={save.isPending && 'Saving'}>
          Save name
        </Button>
      </div>
    </form>
  );
}

function Password({ me: { has_password } }: { me: Me }) {
  const [changing, setChanging] = useState(false);
  const toast = useToast();
  const word = has_password ? 'Change password' : 'Set password';
  const change = async (form: FormData) => {
    await apiOf().ownAccount.changePassword({
      ...(has_password && { current_password: asTyped(form, 'current') }),
      new_password: asTyped(form, 'next'),
    });
    toast('Password changed. All other sessions have ended.');
  };
  return (
    <Section title="Password">
      <Button onClick={() => setChanging(true)}>{word}…</Button>
      {changing && (
        <ActDialog
          title={word}
          action={word}
          onClose={() => setChanging(false)}
          onSubmit={change}
          explain={refusalText}
        >
          {has_password && (
            <TextField
              label="Current password"
              name="current"
              type="password"
              required
              autoComplete="current-password"
            />
          )}
          <TextField
            label="New password"
            name="next"
            type="password"
            required
            minLength={12}
            autoComplete="new-password"
            hint="At least 12 characters. All other sessions end."
          />
        </ActDialog>
      )}
    </Section>
  );
}
