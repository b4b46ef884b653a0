import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../ui/controls/button.tsx';
import { SelectField } from '../ui/controls/fields.tsx';
import { Section } from '../ui/page/section.tsx';
import { CopyIcon } from '../ui/text/copy.tsx';
import { Time } from '../ui/text/time.tsx';
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
  const { standard_webhooks_secret: standard, secrets, signing_key: key } = endpoint;
  const rows: Row[] = [
    ...(standard === '' ? [] : [{ name: 'Standard Webhooks', value: standard }]),
    ...secrets.map(({ value, expires_at }) => ({ name: t.secret, value, expires: expires_at })),
    ...(key === null ? [] : [{ name: t.publicKey, value: key.public_key }]),
  ];
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
      <ul className="border-t border-line">
        {rows.map(({ name, value, expires = null }) => (
          <li
            key={name + value}
            className="flex min-h-8 flex-wrap items-center gap-x-3 border-b border-line py-1"
          >
            <span className="w-36 text-muted">{name}</span>
            <code className="min-w-0 flex-1 font-mono text-xs break-all">
              {shown ? value : '•'.repeat(12)}
            </code>
            {expires !== null && (
              <span className="text-muted">
                {t.ends} <Time at={expires} />
              </span>
            )}
            <CopyIcon text={value} what={name} />
          </li>
        ))}
      </ul>
      {rolling && <RollSecret endpoint={endpoint} onClose={() => setRolling(false)} />}
    </Section>
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
      onSubmit={(form) =>
        api.endpoints.expireSecret(endpoint.uid, { expiration: Number(form.get('seconds')) })
      }
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
