import type { ListEventDeliveriesQuery } from 'posthorn-client';
import type { Search } from '../../data/search.ts';
import type { TimeRange } from '../../data/time-range.ts';
import type { Choice } from '../../ui/controls/fields.tsx';

type Gate = NonNullable<ListEventDeliveriesQuery['waitingFor']>[number];
type Status = NonNullable<ListEventDeliveriesQuery['status']>[number];

/** The value in the address, and the words. */
export const STATE_CHOICES: readonly Choice[] = [
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

export const HELD_CHOICES: readonly Choice[] = [
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

/** The API has no state for cancelled deliveries: they are discarded ones with a time of cancelling. */
const stateFilter = (state: string | undefined) =>
  state === 'Cancelled'
    ? { cancelled: true }
    : state === undefined
      ? {}
      : { status: state.split(',') as Status[] };

export const deliveryFilters = (search: Search, range: TimeRange) => ({
  ...range,
  ...stateFilter(search['state']),
  ...(search['endpoint'] === undefined ? {} : { endpointId: [search['endpoint']] }),
  ...(search['type'] === undefined ? {} : { eventType: search['type'] }),
  ...(search['text'] === undefined ? {} : { query: search['text'] }),
  ...(search['customer'] === undefined ? {} : { ownerId: search['customer'] }),
  ...(search['outcome'] === undefined ? {} : { outcome: search['outcome'].split(',') }),
  ...(search['held'] === undefined ? {} : { waitingFor: search['held'].split(',') as Gate[] }),
  ...(search['event'] === undefined ? {} : { eventId: search['event'] }),
  ...(search['subscription'] === undefined ? {} : { subscriptionId: search['subscription'] }),
});
