import type {
  Event,
  EventDelivery,
  ListEventDeliveriesQuery,
  ListEventsQuery,
  OrderingKey,
} from '../../../client/src/posthorn.ts';
import type { Given } from '../terminal/command.ts';
import { readTime } from '../terminal/input.ts';
import { counted, printList, printOne } from '../terminal/output.ts';
import { withService } from './connect.ts';
import { many, one, several } from './resources.ts';
import { optional } from './trigger.ts';

/** The filters of events. */
export function eventQuery(given: Given): ListEventsQuery {
  return {
    ...period(given),
    ...optional('endpointId', several(given, 'endpoint')),
    ...optional('sourceId', several(given, 'source')),
    ...optional('ownerId', given.text('owner')),
    ...optional('idempotencyKey', given.text('idempotency-key')),
    ...optional('query', given.text('query')),
    ...optional('body', given.text('body')),
  };
}

/** The filters of deliveries. */
export function deliveryQuery(given: Given): ListEventDeliveriesQuery {
  return {
    ...period(given),
    ...optional('endpointId', several(given, 'endpoint')),
    ...optional('eventId', given.text('event')),
    ...optional('subscriptionId', given.text('subscription')),
    ...optional('eventType', given.text('event-type')),
    ...optional('status', several(given, 'status') as ListEventDeliveriesQuery['status']),
    ...optional('ownerId', given.text('owner')),
    ...optional('outcome', several(given, 'outcome')),
    ...optional('waitingFor', several(given, 'waiting-for') as ListEventDeliveriesQuery['waitingFor']),
    ...optional('query', given.text('query')),
  };
}

function period(given: Given): { startDate?: string; endDate?: string } {
  return {
    ...optional('startDate', readTime(given, 'since')),
    ...optional('endDate', readTime(given, 'until')),
  };
}

export const listEvents = many<Event>(
  [
    ['UID', ({ uid }) => uid],
    ['EVENT TYPE', ({ event_type }) => event_type],
    ['STATUS', ({ status }) => status],
    ['ENDPOINTS', ({ endpoints }) => endpoints.length],
    ['CREATED', ({ created_at }) => created_at],
  ],
  (posthorn, given) => posthorn.events.list(eventQuery(given)),
);

export const getEvent = one((posthorn, given) => posthorn.events.get(given.operand()));

export const explainEvent = (given: Given): Promise<undefined> =>
  withService(given, async (posthorn) => {
    const { subscriptions } = await posthorn.events.explain(given.operand());
    await printList(given, subscriptions, [
      ['SUBSCRIPTION', ({ name }) => name],
      ['ENDPOINT', ({ endpoint_id }) => endpoint_id],
      ['MATCHED', ({ matched }) => (matched ? 'yes' : 'no')],
      ['REASON', ({ reason }) => reason],
    ]);
    return undefined;
  });

export const listDeliveries = many<EventDelivery>(
  [
    ['UID', ({ uid }) => uid],
    ['EVENT TYPE', ({ event_type }) => event_type],
    ['STATUS', ({ status }) => status],
    ['ATTEMPTS', ({ metadata }) => metadata.num_trials],
    ['LAST', ({ last_outcome }) => last_outcome],
    ['TO', ({ target_url, device_metadata }) => target_url || device_metadata?.host_name],
    ['CREATED', ({ created_at }) => created_at],
  ],
  (posthorn, given) => posthorn.eventDeliveries.list(deliveryQuery(given)),
);

export const getDelivery = one((posthorn, given) => posthorn.eventDeliveries.get(given.operand()));

export const listAttempts = (given: Given): Promise<undefined> =>
  withService(given, async (posthorn) => {
    await printList(given, await posthorn.deliveryAttempts.list(given.operand()), [
      ['UID', ({ uid }) => uid],
      ['STATUS', ({ http_status, error }) => http_status || error],
      ['ADDRESS', ({ ip_address }) => ip_address],
      ['ANSWER', ({ response_data }) => response_data.slice(0, 60)],
      ['CREATED', ({ created_at }) => created_at],
    ]);
    return undefined;
  });

export const listOrderingKeys = many<OrderingKey>(
  [
    ['UID', ({ uid }) => uid],
    ['KEY', ({ key }) => key],
    ['WAITING', ({ waiting }) => waiting],
    ['HEAD', ({ head_id }) => head_id],
    ['HELD', ({ held_at }) => held_at ?? ''],
  ],
  (posthorn, given) =>
    posthorn.subscriptions.listOrderingKeys({
      ...(given.has('held') && { held: true }),
      ...optional('subscriptionId', given.text('subscription')),
    }),
);

export const skipOrderingKeys = (given: Given): Promise<undefined> =>
  withService(given, async (posthorn) => {
    const result = await posthorn.subscriptions.skipOrderingKeys({ ids: [...given.operands] });
    await printOne(given, result, [`${counted(result.released, 'delivery', 'deliveries')} due now`]);
    return undefined;
  });
