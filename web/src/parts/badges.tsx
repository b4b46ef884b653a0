import type { Endpoint, EndpointHealth } from 'posthorn-client';
import { type DeliveryState, deliveryState, type Stated } from '../data/delivery-state.ts';
import { hasExpired } from '../data/endpoint-status.ts';
import { StateBadge, type StateLook } from '../ui/text/state-badge.tsx';
import type { Messages } from './languages/en.ts';
import { useWords } from './words.ts';

const LOOKS: Readonly<Record<DeliveryState, Omit<StateLook, 'word'>>> = {
  delivered: { tone: 'ok', shape: 'check' },
  failed: { tone: 'bad', shape: 'cross' },
  retrying: { tone: 'retry', shape: 'again' },
  'in flight': { tone: 'run', shape: 'arrow' },
  scheduled: { tone: 'due', shape: 'clock' },
  held: { tone: 'held', shape: 'pause' },
  discarded: { tone: 'lost', shape: 'slash' },
  cancelled: { tone: 'off', shape: 'slash' },
};

export function DeliveryStateBadge({ state, title }: { state: DeliveryState; title?: string | undefined }) {
  const { states } = useWords();
  return <StateBadge look={{ ...LOOKS[state], word: states[state] }} title={title} />;
}

export const DeliveryBadge = ({ delivery, title }: { delivery: Stated; title?: string }) => (
  <DeliveryStateBadge state={deliveryState(delivery)} title={title === '' ? undefined : title} />
);

type Health = Pick<Endpoint, 'status' | 'cb_state' | 'expires_at'>;

function endpointLook(
  endpoint: Health,
  state: EndpointHealth['state'],
  words: Messages['health'],
): StateLook {
  const { status, cb_state } = endpoint;
  if (hasExpired(endpoint)) return { tone: 'off', shape: 'slash', word: words.expired };
  if (status === 'pending') return { tone: 'held', shape: 'clock', word: words.pending };
  if (status === 'paused') return { tone: 'held', shape: 'pause', word: words.paused };
  if (status === 'inactive') return { tone: 'off', shape: 'slash', word: words.disabled };
  if (cb_state.startsWith('half')) return { tone: 'retry', shape: 'again', word: words.recovering };
  if (state === 'failing') return { tone: 'bad', shape: 'cross', word: words.failing };
  if (cb_state === 'open') return { tone: 'bad', shape: 'cross', word: words.breaker };
  if (state === 'degraded') return { tone: 'retry', shape: 'again', word: words.unstable };
  return { tone: 'ok', shape: 'check', word: words.active };
}

interface EndpointBadgeProps {
  endpoint: Health;
  /** How its deliveries fare, for readers who need not know what a breaker is. */
  state?: EndpointHealth['state'];
}

export const EndpointBadge = ({ endpoint, state = 'ok' }: EndpointBadgeProps) => (
  <StateBadge look={endpointLook(endpoint, state, useWords().health)} />
);
