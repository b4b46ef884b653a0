import type { BeginSecondFactorResult, Me } from 'posthorn-client';
import { useState } from 'react';
import { refusalText } from '../../data/explain-error.ts';
import { apiOf } from '../../data/session.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { useAct } from '../../parts/acts.tsx';
import { QrView } from '../../ui/charts/qr-view.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { Dialog } from '../../ui/controls/dialog.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useToast } from '../../ui/controls/toast.tsx';
import { Section } from '../../ui/page/section.tsx';

type Act = 'renew' | 'remove' | 'pass';

/** The second factor: codes of an authenticator app, and recovery codes for when it is lost. */
export function SecondFactor({ me }: { me: Me }) {
  const [act, setAct] = useState<Act>();
  const begin = useAct(() => apiOf().ownAccount.beginSecondFactor());
  const close = () => setAct(undefined);
  const isUnproved = me.second_factor && !me.session.second_factor;
  return (
    <Section title="Second factor">
      {me.second_factor_required && (
        <p role="alert" className="mb-3">
          {isUnproved
            ? 'Send a code to use the other pages.'
            : 'This instance requires a second factor. Set one up to use the other pages.'}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <span className="mr-2">{me.second_factor ? 'On' : 'Off'}</span>
        {!me.second_factor && (
          <Button look="main" busy={begin.isPending && 'Starting'} onClick={() => begin.mutate()}>
            Set up…
          </Button>
        )}
        {isUnproved && (
          <Button look="main" onClick={() => setAct('pass')}>
            Enter a code…
          </Button>
        )}
        {me.second_factor && <Button onClick={() => setAct('renew')}>New recovery codes…</Button>}
        {me.second_factor && (
          <Button look="danger" onClick={() => setAct('remove')}>
            Switch off…
          </Button>
        )}
      </div>
      {begin.data !== undefined && <SetUp begun={begin.data} onClose={begin.reset} />}
      {act !== undefined && <WithCode act={act} onClose={close} />}
    </Section>
  );
}

interface Props {
  onClose(): void;
}

const CodeField = ({ hint }: { hint?: string }) => (
  <TextField
    label="Code"
    name="code"
    required
    inputMode="text"
    autoComplete="one-time-code"
    {...(hint === undefined ? {} : { hint })}
  />
);

function SetUp({ begun, onClose }: Props & { begun: BeginSecondFactorResult }) {
  const confirm = async (form: FormData) => {
    const { recovery_codes } = await apiOf().ownAccount.confirmSecondFactor({ code: formText(form, 'code') });
    return <RecoveryCodes codes={recovery_codes} onClose={onClose} />;
  };
  return (
    <ActDialog
      title="Set up the second factor"
      action="Switch on"
      onClose={onClose}
      onSubmit={confirm}
      explain={refusalText}
    >
      <p>
        Scan this with an authenticator app, type the secret into it, or{' '}
        <a href={begun.url} className="link">
          open it in an app on this device
        </a>
        .
      </p>
      <QrView label="QR code of the secret" text={begun.url} />
      <CodeBlock label="Secret" text={begun.secret} />
      <CodeField hint="The code that the app shows now. All other sessions end." />
    </ActDialog>
  );
}

const ACTS: Readonly<Record<Act, { title: string; action: string; done: string }>> = {
  renew: { title: 'New recovery codes', action: 'Make new codes', done: 'The earlier codes stopped working' },
  remove: {
    title: 'Switch the second factor off',
    action: 'Switch off',
    done: 'The second factor is off',
  },
  pass: { title: 'Enter a code', action: 'Send code', done: 'The code was accepted' },
};

/** An act that needs a code. */
function WithCode({ act, onClose }: Props & { act: Act }) {
  const toast = useToast();
  const { title, action, done } = ACTS[act];
  const submit = async (form: FormData) => {
    const { ownAccount } = apiOf();
    const body = { code: formText(form, 'code') };
    const codes = act === 'renew' ? await ownAccount.renewRecoveryCodes(body) : undefined;
    if (act === 'remove') await ownAccount.removeSecondFactor(body);
    if (act === 'pass') await ownAccount.passSecondFactor(body);
    toast(done);
    return codes && <RecoveryCodes codes={codes} onClose={onClose} />;
  };
  return (
    <ActDialog
      title={title}
      action={action}
      danger={act === 'remove'}
      onClose={onClose}
      onSubmit={submit}
      explain={refusalText}
    >
      <CodeField hint="A code of the app, or a recovery code. Each works once." />
    </ActDialog>
  );
}

/** In two groups, as people type them. */
const shown = (code: string): string => `${code.slice(0, 5)}-${code.slice(5)}`;

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose(): void }) {
  return (
    <Dialog title="Your recovery codes" onClose={onClose}>
      <div className="grid gap-3">
        <p>
          Keep them where you do not need the app to reach them. Each works once. They are not shown again.
        </p>
        <CodeBlock label="Recovery codes" text={codes.map(shown).join('\n')} />
        <div className="flex justify-end">
          <Button look="main" onClick={onClose}>
            I have kept them
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
