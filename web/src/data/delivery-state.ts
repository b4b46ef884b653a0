import type { EventDelivery } from 'posthorn-client';

/** The states of a delivery as the pages show them. Held is Scheduled or Retry behind a gate. */
export type DeliveryState =
  | 'scheduled'
  | 'in flight'
  | 'retrying'
  | 'held'
  | 'delivered'
  | 'failed'
  | 'discarded'
  | 'cancelled';

export type Stated = Pick<EventDelivery, 'status' | 'waiting_for' | 'cancelled_at'>;

const HOLDS: ReadonlySet<string> = new Set(['pending', 'paused', 'circuit_breaker', 'rate_limit', 'order']);

export function deliveryState(delivery: Stated): DeliveryState {
  const { status } = delivery;
  if (status === 'Success') return 'delivered';
  if (status === 'Failure') return 'failed';
  if (status === 'Discarded') return delivery.cancelled_at === null ? 'discarded' : 'cancelled';
  if (status === 'Processing' || delivery.waiting_for?.gate === 'sending') return 'in flight';
  if (HOLDS.has(delivery.waiting_for?.gate ?? '')) return 'held';
  return status === 'Retry' ? 'retrying' : 'scheduled';
}

const OPEN: ReadonlySet<DeliveryState> = new Set(['scheduled', 'in flight', 'retrying', 'held']);
/** Whether it is still on its way. */
export const isOpen = (delivery: Stated): boolean => OPEN.has(deliveryState(delivery));

const SENDABLE: ReadonlySet<string> = new Set(['delayed', 'retry', 'circuit_breaker']);
/** Whether it can be sent now: it waits for its time, a retry or a circuit breaker, and nothing else holds it. */
export const maySendNow = ({
  waiting_for: waiting,
  endpoint_metadata: endpoint,
}: Pick<EventDelivery, 'waiting_for' | 'endpoint_metadata'>): boolean =>
  SENDABLE.has(waiting?.gate ?? '') && endpoint?.status === 'active' && endpoint.delivery !== 'pull';

/** The customer whose endpoint it goes to. Empty: none. */
export const customerOf = ({
  endpoint_metadata: endpoint,
}: Pick<EventDelivery, 'endpoint_metadata'>): string => endpoint?.owner_id ?? '';

/** The receiver: an endpoint, or the device that listens. */
export const receiverOf = (
  delivery: Pick<EventDelivery, 'endpoint_metadata' | 'device_metadata' | 'endpoint_id'>,
): string => delivery.endpoint_metadata?.name ?? delivery.device_metadata?.host_name ?? delivery.endpoint_id;

/** Attempts made and allowed. Retries by hand may be more than its limit allows. */
export const triesOf = ({ num_trials, retry_limit }: { num_trials: number; retry_limit: number }): string =>
  num_trials > retry_limit ? String(num_trials) : `${num_trials} of ${retry_limit}`;

export type Described = Stated & Pick<EventDelivery, 'metadata' | 'latency' | 'description'>;

/** The past and the next step of a delivery. Its description says why it waits. `when` words a time, such as "in 4 min". */
export function tellDelivery(delivery: Described, when: (at: string) => string): string {
  const { description, metadata, waiting_for: gate } = delivery;
  const said = description === '' ? '' : `${description.replace(/\.$/, '')}. `;
  switch (deliveryState(delivery)) {
    case 'delivered':
      return `Delivered ${latencyText(delivery)} after it was due, at attempt ${metadata.num_trials}.`;
    case 'failed':
      return `${said}Retry it to send it again.`;
    case 'discarded':
    case 'cancelled':
      return `${said}Retry it to send it.`;
    case 'in flight':
      return said || 'A request is on its way.';
    case 'scheduled':
      if (gate?.gate === 'delayed' && gate.until !== null) return `${said}First attempt ${when(gate.until)}.`;
      return said || 'It is about to be sent.';
    case 'held':
      return `${said}${gate?.until == null ? '' : `Next attempt ${when(gate.until)}.`}`;
    case 'retrying': {
      const next = gate?.until ?? metadata.next_send_time;
      return `${said}Next attempt ${next === null ? 'soon' : when(next)} (${triesOf(metadata)} attempts used).`;
    }
  }
}

/** "1 delivery", "3 deliveries". */
export const plural = (count: number, one: string, many = `${one.replace(/ry$/, 'rie')}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `12.4ms` as `12.4 ms`. The seconds of a delivery are whole, so they say nothing of most of them. */
export const latencyText = ({ latency }: Pick<EventDelivery, 'latency'>): string =>
  latency.replace(/m?s$/, (unit) => ` ${unit}`);
