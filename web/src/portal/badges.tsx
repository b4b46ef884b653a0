import type { Endpoint, EventDelivery } from 'posthorn-client';
import { type DeliveryState, deliveryState } from '../data/delivery-state.ts';
import { StateBadge, type StateLook } from '../ui/text/state-badge.tsx';
import type { Messages } from './languages/en.ts';
import { useWords } from './words.ts';

const LOOKS: Readonly<Record<DeliveryState, Omit<StateLook, 'word'>>> = {
  delivered: { tone: 'ok', shape: 'check' },
  failed: { tone: 'bad', shape: 'cross' },
  retrying: { tone: 'retry', shape: 'again' },
  'in flight': { tone: 'run', shape: 'arrow' },
  scheduled: { tone: 'run', shape: 'clock' },
  held: { tone: 'held', shape: 'pause' },
  discarded: { tone: 'off', shape: 'slash' },
  cancelled: { tone: 'off', shape: 'slash' },
};

type Stated = Pick<EventDelivery, 'status' | 'waiting_for' | 'cancelled_at'>;

export function DeliveryBadge({ delivery }: { delivery: Stated }) {
  const { states } = useWords();
  const state = deliveryState(delivery);
  return <StateBadge look={{ ...LOOKS[state], word: states[state] }} />;
}

type Health = Pick<Endpoint, 'status' | 'cb_state'>;

/** The deliveries of the last 24 hours. */
export interface DayCounts {
  success_count: number;
  failure_count: number;
  /** Those that failed and wait for their next attempt. */
  retry_count: number;
}

/** An endpoint of which more fails than succeeds is failing, also before its circuit breaker opens. */
export const isFailing = ({ cb_state }: Pick<Health, 'cb_state'>, counts: DayCounts | undefined): boolean =>
  cb_state === 'open' ||
  (counts !== undefined && counts.failure_count + counts.retry_count > counts.success_count);

function healthLook(
  { status, cb_state }: Health,
  counts: DayCounts | undefined,
  { health }: Messages,
): StateLook {
  if (status === 'paused') return { tone: 'held', shape: 'pause', word: health.paused };
  if (status === 'inactive') return { tone: 'off', shape: 'slash', word: health.disabled };
  if (cb_state.startsWith('half')) return { tone: 'retry', shape: 'again', word: health.recovering };
  if (isFailing({ cb_state }, counts)) return { tone: 'bad', shape: 'cross', word: health.failing };
  return { tone: 'ok', shape: 'check', word: health.active };
}

export const HealthBadge = ({ endpoint, counts }: { endpoint: Health; counts: DayCounts | undefined }) => (
  <StateBadge look={healthLook(endpoint, counts, useWords())} />
);
