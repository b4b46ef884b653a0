import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { CopyIcon } from '../../ui/text/copy.tsx';
import { Time } from '../../ui/text/time.tsx';
import { useRights } from '../link.ts';
import { useWords } from '../words.ts';
import { RollSecret } from './endpoint-dialogs.tsx';

/** The secrets that sign now. While an old one runs out there are two. Only links that may see them get them. */
export function Secrets({ endpoint }: { endpoint: Endpoint }) {
  const { secrets: t } = useWords();
  const { manage: mayManage } = useRights();
  const [shown, setShown] = useState(false);
  const [rolling, setRolling] = useState(false);
  const { standard_webhooks_secret: standard, secrets } = endpoint;
  const rows: [string, string, string | null][] = [
    ...(standard === '' ? [] : [['Standard Webhooks', standard, null] as [string, string, null]]),
    ...secrets.map(({ value, expires_at }): [string, string, string | null] => [t.secret, value, expires_at]),
  ];
  return (
    <Section
      title={t.title}
      aside={
        <span className="flex gap-2">
          <Button onClick={() => setShown(!shown)}>{shown ? t.hide : t.show}</Button>
          {mayManage && <Button onClick={() => setRolling(true)}>{t.roll}</Button>}
        </span>
      }
    >
      <p className="mb-2 text-muted">{t.text}</p>
      <ul className="border-t border-line">
        {rows.map(([name, value, expires]) => (
          <li
            key={name + value}
            className="flex min-h-9 flex-wrap items-center gap-x-3 border-b border-line py-1"
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
