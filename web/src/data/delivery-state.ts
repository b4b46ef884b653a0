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

const HOLDS: Readonly<Record<string, string>> = {
  paused: 'the endpoint is paused',
  circuit_breaker: 'its circuit breaker is open',
  rate_limit: 'its rate limit is used up',
};

/** The gate of a delivery, in words; undefined if it waits for none. */
export const holdOf = ({ waiting_for: gate }: Pick<EventDelivery, 'waiting_for'>): string | undefined =>
  gate === null ? undefined : HOLDS[gate.gate];

export function deliveryState(delivery: Stated): DeliveryState {
  const { status } = delivery;
  if (status === 'Success') return 'delivered';
  if (status === 'Failure') return 'failed';
  if (status === 'Discarded') return delivery.cancelled_at === null ? 'discarded' : 'cancelled';
  if (status === 'Processing' || delivery.waiting_for?.gate === 'sending') return 'in flight';
  if (holdOf(delivery) !== undefined) return 'held';
  return status === 'Retry' ? 'retrying' : 'scheduled';
}

const OPEN: ReadonlySet<DeliveryState> = new Set(['scheduled', 'in flight', 'retrying', 'held']);
/** Whether it is still on its way. */
export const isOpen = (delivery: Stated): boolean => OPEN.has(deliveryState(delivery));

/** Why a delivery is in its state, for a line of a list. A gate is named without its time, which the delivery has. */
export function whyOf(delivery: Stated & Pick<EventDelivery, 'description'>): string {
  const held = holdOf(delivery);
  return held === undefined ? delivery.description : `Held because ${held}`;
}

/** The receiver: an endpoint, or the device that listens. */
export const receiverOf = (
  delivery: Pick<EventDelivery, 'endpoint_metadata' | 'device_metadata' | 'endpoint_id'>,
): string => delivery.endpoint_metadata?.name ?? delivery.device_metadata?.host_name ?? delivery.endpoint_id;

/** Tries made and allowed. Retries by hand may be more than its limit allows. */
export const triesOf = ({ num_trials, retry_limit }: { num_trials: number; retry_limit: number }): string =>
  num_trials > retry_limit ? String(num_trials) : `${num_trials} of ${retry_limit}`;

export type Told = Stated & Pick<EventDelivery, 'metadata' | 'latency' | 'description'>;

/** One plain sentence: what happened, and what happens next. `when` words a time, such as "in 4 min". */
export function tellDelivery(delivery: Told, when: (at: string) => string): string {
  const { description, metadata, waiting_for: gate } = delivery;
  const said = description === '' ? '' : `${description.replace(/\.$/, '')}. `;
  const tries = `${triesOf(metadata)} tries`;
  switch (deliveryState(delivery)) {
    case 'delivered':
      return `Delivered ${latencyText(delivery)} after the event was accepted, after ${plural(metadata.num_trials, 'try', 'tries')}.`;
    case 'failed':
      return `${said}It is not tried again unless you retry it (${tries} used).`;
    case 'discarded':
      return `${said}It was never sent to its end. Retry it to send it.`;
    case 'cancelled':
      return `${said}Retry it to send it after all.`;
    case 'in flight':
      return `${said}A request is on its way now.`;
    case 'held': {
      const until = gate?.until ?? null;
      return `${said}It waits because ${holdOf(delivery)}${until === null ? '' : `, until ${when(until)}`}.`;
    }
    case 'retrying': {
      const next = gate?.until ?? metadata.next_send_time;
      return `${said}We try again ${next === null ? 'soon' : when(next)} (${tries} used).`;
    }
    case 'scheduled':
      return `${said}${gate?.gate === 'pull' ? 'It waits for its consumer to fetch it.' : 'It is about to be sent.'}`;
  }
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `12.4ms` as `12.4 ms`. The seconds of a delivery are whole, so they say nothing of most of them. */
export const latencyText = ({ latency }: Pick<EventDelivery, 'latency'>): string =>
  latency.replace(/m?s$/, (unit) => ` ${unit}`);
