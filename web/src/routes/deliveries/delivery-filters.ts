import type { ListEventDeliveriesQuery } from 'posthorn-client';
import { CUSTOMER, type ListFilters, TIME } from '../../dashboard/lists/list-filters.tsx';
import type { Choice } from '../../ui/controls/fields.tsx';

type Gate = NonNullable<ListEventDeliveriesQuery['waitingFor']>[number];
type Status = NonNullable<ListEventDeliveriesQuery['status']>[number];

/** The value in the address, and the words. */
const STATE_CHOICES: readonly Choice[] = [
  ['', 'Any state'],
  ['Failure', 'Failed'],
  ['Retry', 'Waiting to retry'],
  ['Failure,Retry', 'Failed or retrying'],
  ['Scheduled', 'Scheduled'],
  ['Processing', 'In flight'],
  ['Success', 'Delivered'],
  ['Discarded', 'Discarded or cancelled'],
  ['Cancelled', 'Cancelled'],
];

const HELD_CHOICES: readonly Choice[] = [
  ['', 'Held or not'],
  ['pending,paused,circuit_breaker,rate_limit,order', 'Held'],
  ['pending', 'Held: endpoint not verified'],
  ['paused', 'Held: endpoint paused'],
  ['circuit_breaker', 'Held: circuit breaker'],
  ['pull', 'Waits for a consumer'],
  ['sending', 'Being sent, or with a consumer'],
  ['retry', 'Waits for its next attempt'],
  ['delayed', 'Waits for the time of its event'],
  ['rate_limit', 'Held: rate limit'],
  ['order', 'Held: waits for its turn'],
  ['moving', 'Held: the project moves'],
];

export const deliveryFilters: ListFilters<ListEventDeliveriesQuery> = {
  time: TIME,
  state: {
    label: 'State',
    choices: STATE_CHOICES,
    // The API has no state for cancelled deliveries: they are discarded ones with a time of cancelling.
    query: (state) =>
      state === 'Cancelled' ? { cancelled: true } : { status: state.split(',') as Status[] },
  },
  endpoint: { label: 'Endpoint', control: 'endpoint', query: (uid) => ({ endpointId: [uid] }) },
  held: {
    label: 'Held',
    choices: HELD_CHOICES,
    query: (held) => ({ waitingFor: held.split(',') as Gate[] }),
  },
  type: { label: 'Event type', query: (eventType) => ({ eventType }) },
  text: { label: 'Text', query: (query) => ({ query }) },
  outcome: { label: 'Outcome (http_503)', query: (outcomes) => ({ outcome: outcomes.split(',') }) },
  customer: CUSTOMER,
  event: { query: (eventId) => ({ eventId }) },
  subscription: { query: (subscriptionId) => ({ subscriptionId }) },
};
