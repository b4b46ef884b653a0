import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../ui/controls/button.tsx';
import { Dialog } from '../ui/controls/dialog.tsx';
import { SelectField } from '../ui/controls/fields.tsx';
import { Section } from '../ui/page/section.tsx';
import { CopyIcon } from '../ui/text/copy.tsx';
import { Time, useNow } from '../ui/text/time.tsx';
import { ActDialog } from './act-dialog.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

interface Row {
  name: string;
  value: string;
  expires?: string | null;
}

/** The secrets that sign now. While an old one runs out there are two. */
export function Secrets({ endpoint, mayRoll }: { endpoint: Endpoint; mayRoll: boolean }) {
  const { secrets: t } = useWords();
  const [shown, setShown] = useState(false);
  const [rolling, setRolling] = useState(false);
  return (
    <Section
      title={t.title}
      aside={
        <span className="flex gap-2">
          <Button onClick={() => setShown(!shown)}>{shown ? t.hide : t.show}</Button>
          {mayRoll && <Button onClick={() => setRolling(true)}>{t.roll}</Button>}
        </span>
      }
    >
      <p className="mb-2 text-muted">{t.text}</p>
      <SecretRows endpoint={endpoint} shown={shown} />
      {rolling && <RollSecret endpoint={endpoint} onClose={() => setRolling(false)} />}
    </Section>
  );
}

/** Each secret that signs and the public key, ready to be copied. */
export function SecretRows({ endpoint, shown }: { endpoint: Endpoint; shown: boolean }) {
  const { secrets: t } = useWords();
  const now = useNow();
  const { standard_webhooks_secret: standard, secrets, signing_key: key } = endpoint;
  const rows: Row[] = [
    ...(standard === '' ? [] : [{ name: 'Standard Webhooks', value: standard }]),
    // One that was ended at once is still listed.
    ...secrets
      .filter(({ expires_at: at }) => at === null || Date.parse(at) > now)
      .map(({ value, expires_at }) => ({ name: t.secret, value, expires: expires_at }))
      .toReversed(),
    ...(key === null ? [] : [{ name: t.publicKey, value: key.public_key }]),
  ];
  return (
    <ul className="border-t border-line">
      {rows.map(({ name, value, expires = null }) => (
        <li
          key={name + value}
          className="grid min-h-8 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 border-b border-line py-1 sm:grid-cols-[9rem_minmax(0,1fr)_auto]"
        >
          <span className="col-span-2 text-muted sm:col-span-1">
            {name}
            {expires !== null && (
              <span className="block text-xs">
                {t.ends} <Time at={expires} />
              </span>
            )}
          </span>
          <code className="font-mono text-xs break-all">{shown ? value : '•'.repeat(12)}</code>
          <CopyIcon text={value} what={name} />
        </li>
      ))}
    </ul>
  );
}

const HOUR = 3600;

function RollSecret({ endpoint, onClose }: { endpoint: Endpoint; onClose(): void }) {
  const { secrets: t } = useWords();
  const { api } = useSite();
  return (
    <ActDialog
      title={t.rollTitle(endpoint.name)}
      action={t.rollAct}
      onClose={onClose}
      onSubmit={async (form) => {
        const expiration = Number(form.get('seconds'));
        const rolled = await api.endpoints.expireSecret(endpoint.uid, { expiration });
        return (
          <Dialog title={t.rolled(endpoint.name)} onClose={onClose} wide>
            <SecretRows endpoint={rolled} shown />
          </Dialog>
        );
      }}
    >
      <p>{t.rollText}</p>
      <SelectField
        label={t.oldIsValid}
        name="seconds"
        defaultValue={24 * HOUR}
        choices={[
          [String(HOUR), t.hours(1)],
          [String(24 * HOUR), t.days(1)],
          [String(72 * HOUR), t.days(3)],
          [String(168 * HOUR), t.days(7)],
          ['0', t.atOnce],
        ]}
      />
    </ActDialog>
  );
}
