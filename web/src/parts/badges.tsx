import type { Endpoint } from 'posthorn-client';
import { type DeliveryState, deliveryState, type Stated } from '../data/delivery-state.ts';
import { hasExpired } from '../data/endpoint-status.ts';
import { StateBadge, type StateLook } from '../ui/text/state-badge.tsx';
import { Time } from '../ui/text/time.tsx';
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

type State = Endpoint['state'];

const STATES: Readonly<Record<State, Omit<StateLook, 'word'>>> = {
  failing: { tone: 'bad', shape: 'cross' },
  disabled: { tone: 'off', shape: 'slash' },
  degraded: { tone: 'retry', shape: 'again' },
  held: { tone: 'held', shape: 'pause' },
  recovered: { tone: 'ok', shape: 'check' },
  ok: { tone: 'ok', shape: 'check' },
};

/** The state of an endpoint, or of the worst one of a customer. */
export interface EndpointStated extends Pick<Endpoint, 'state' | 'held_by' | 'recovered_at' | 'sent_since'> {
  status?: Endpoint['status'];
  expires_at?: Endpoint['expires_at'];
}

/** "Recovered 3 min ago, 1,302 sent since". */
export function EndpointBadge({ of }: { of: EndpointStated }) {
  const { health: words } = useWords();
  const { state, held_by: gate, status, expires_at = null } = of;
  const isOver = status !== undefined && hasExpired({ status, expires_at });
  const word = isOver ? words.expired : gate === 'pending' ? words.pending : words[state];
  return (
    <>
      <StateBadge look={{ ...STATES[state], word }} />
      {state === 'recovered' && (
        <span className="text-muted">
          {' '}
          <Time at={of.recovered_at} />, {words.sentSince(of.sent_since)}
        </span>
      )}
    </>
  );
}
