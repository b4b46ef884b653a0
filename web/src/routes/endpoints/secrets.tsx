import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { CopyIcon } from '../../ui/text/copy.tsx';
import { Time } from '../../ui/text/time.tsx';

/** The secrets that sign now. While one runs out there are two. */
export function Secrets({ endpoint }: { endpoint: Endpoint }) {
  const [shown, setShown] = useState(false);
  const { standard_webhooks_secret: standard, secrets, signing_key: key } = endpoint;
  const rows: [string, string, string | null][] = [
    ...secrets.map(({ value, expires_at }): [string, string, string | null] => ['Secret', value, expires_at]),
    ...(standard === '' ? [] : [['Standard Webhooks', standard, null] as [string, string, null]]),
    ...(key === null ? [] : [['Public key', key.public_key, null] as [string, string, null]]),
  ];
  return (
    <Section
      title="Secrets"
      aside={<Button onClick={() => setShown(!shown)}>{shown ? 'Hide' : 'Show'}</Button>}
    >
      <ul className="border-t border-line">
        {rows.map(([name, value, expires]) => (
          <li
            key={name + value}
            className="flex min-h-8 flex-wrap items-center gap-x-3 border-b border-line py-1"
          >
            <span className="w-36 text-muted">{name}</span>
            <code className="min-w-0 flex-1 font-mono text-xs break-all">
              {shown ? value : '•'.repeat(24)}
            </code>
            {expires !== null && (
              <span className="text-muted">
                expires <Time at={expires} />
              </span>
            )}
            <CopyIcon text={value} what={name.toLowerCase()} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
