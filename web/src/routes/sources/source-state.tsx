import type { Source } from 'posthorn-client';
import { StateBadge, type StateLook } from '../../ui/text/state-badge.tsx';

export const SOURCE_KINDS: Readonly<Record<Source['type'], string>> = {
  http: 'Webhooks',
  rest_api: 'REST API',
  pub_sub: 'Message broker',
  db_change_stream: 'Database changes',
  schedule: 'Schedule',
};

const LOOKS: Readonly<Record<NonNullable<Source['status']>['state'], StateLook>> = {
  connecting: { tone: 'run', shape: 'clock', word: 'Connecting' },
  running: { tone: 'ok', shape: 'check', word: 'Running' },
  waiting: { tone: 'bad', shape: 'again', word: 'Waiting' },
  disabled: { tone: 'off', shape: 'slash', word: 'Disabled' },
};

export function SourceBadge({ source }: { source: Source }) {
  const look: StateLook =
    source.status !== null
      ? LOOKS[source.status.state]
      : source.is_disabled
        ? LOOKS.disabled
        : { tone: 'ok', shape: 'check', word: 'Active' };
  return <StateBadge look={look} title={source.status?.reason || undefined} />;
}
