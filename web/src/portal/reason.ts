import type { EventDelivery } from 'posthorn-client';
import { deliveryState, latencyText } from '../data/delivery-state.ts';
import { brokerAdvice } from '../parts/brokers/steps.ts';
import type { Messages } from '../parts/languages/en.ts';

/** The result of a request or a message in words, from its outcome: `http_503`, `timeout`. */
export function outcomeText({ outcomes, brokers }: Messages, outcome: string, isOfBroker: boolean): string {
  const status = /^http_(\d{3})$/.exec(outcome)?.[1];
  if (status !== undefined) return outcomes.answered(status);
  const all = isOfBroker ? { ...outcomes, ...brokers.outcomes } : outcomes;
  const known = all as unknown as Readonly<Record<string, string>>;
  return (Object.hasOwn(known, outcome) ? known[outcome] : undefined) ?? all.other;
}

const ADVICE: Readonly<Record<string, keyof Messages['advice']>> = {
  http_401: 401,
  http_403: 401,
  http_404: 404,
  http_410: 410,
  timeout: 'timeout',
  response_too_slow: 'timeout',
  connection_refused: 'connection',
  connection_reset: 'connection',
  unreachable: 'connection',
  dns_not_found: 'dns_not_found',
  tls_failed: 'tls_failed',
};

/** The advice for an outcome. Empty: none is known. */
export function adviceText(words: Messages, outcome: string, isOfBroker: boolean): string {
  if (isOfBroker) return brokerAdvice(words, outcome);
  const family = Number(/^http_(\d)/.exec(outcome)?.[1]);
  const key =
    ADVICE[outcome] ?? (family === 2 || family === 3 || family === 4 || family === 5 ? family : 'other');
  return words.advice[key];
}

type Described = Pick<
  EventDelivery,
  | 'status'
  | 'waiting_for'
  | 'cancelled_at'
  | 'last_outcome'
  | 'metadata'
  | 'latency'
  | 'expires_at'
  | 'updated_at'
  | 'endpoint_metadata'
>;

const HOLDS = {
  pending: 'pending',
  paused: 'paused',
  circuit_breaker: 'breaker',
  rate_limit: 'limited',
  order: 'order',
} as const;

const isExpired = ({ expires_at: at, updated_at: ended }: Described): boolean =>
  at != null && Date.parse(ended) >= Date.parse(at);

/** The result of a delivery, the advice, and the next step. `when` words a time, such as "in 4 min". */
export function tellDelivery(words: Messages, delivery: Described, when: (at: string) => string): string {
  const { next } = words;
  const { metadata, last_outcome: outcome, waiting_for: gate } = delivery;
  const state = deliveryState(delivery);
  if (state === 'delivered') return next.delivered(latencyText(delivery), metadata.num_trials);
  const isOfBroker = delivery.endpoint_metadata?.delivery === 'broker';
  const past =
    outcome === ''
      ? []
      : [`${outcomeText(words, outcome, isOfBroker)}.`, adviceText(words, outcome, isOfBroker)];
  const held = gate === null ? undefined : HOLDS[gate.gate as keyof typeof HOLDS];
  const at = gate?.until ?? metadata.next_send_time;
  const future = {
    failed: next.failed,
    discarded: isExpired(delivery) ? next.expired : next.discarded,
    cancelled: next.cancelled,
    'in flight': next.flying,
    scheduled: gate?.gate === 'delayed' && at !== null ? next.retry(when(at)) : next.scheduled,
    held: held === undefined ? '' : next[held],
    retrying: next.retry(at === null ? next.soon : when(at)),
  }[state];
  // Retries by hand may be more than its limit allows.
  const most = Math.max(metadata.num_trials, metadata.retry_limit);
  const tries = metadata.num_trials > 0 ? next.tries(metadata.num_trials, most) : '';
  return [...past, future, tries].filter((part) => part !== '').join(' ');
}
