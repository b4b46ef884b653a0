import type {
  Event,
  EventDelivery,
  Job,
  ListEventDeliveriesQuery,
  ListEventsQuery,
  OrderingKey,
} from '../../../client/src/posthorn.ts';
import type { Given } from '../terminal/command.ts';
import { readTime } from '../terminal/input.ts';
import { counted, isTable, note, printList, printOne } from '../terminal/output.ts';
import { withService } from './connect.ts';
import { many, one } from './resources.ts';
import { optional } from './trigger.ts';

/** The filters of events. */
export const eventQuery = (given: Given): ListEventsQuery => ({
  ...period(given),
  ...given.lists({ endpointId: 'endpoint', sourceId: 'source' }),
  ...given.fields({ ownerId: 'owner', idempotencyKey: 'idempotency-key', query: 'query', body: 'body' }),
});

/** The filters of deliveries. */
export function deliveryQuery(given: Given): ListEventDeliveriesQuery {
  const lists = { endpointId: 'endpoint', status: 'status', outcome: 'outcome', waitingFor: 'waiting-for' };
  const { status, waitingFor, ...others } = given.lists(lists);
  return {
    ...period(given),
    ...others,
    ...optional('status', status as ListEventDeliveriesQuery['status']),
    ...optional('waitingFor', waitingFor as ListEventDeliveriesQuery['waitingFor']),
    ...given.fields({ eventId: 'event', subscriptionId: 'subscription', eventType: 'event-type' }),
    ...given.fields({ ownerId: 'owner', query: 'query' }),
  };
}

export function period(given: Given): { startDate?: string; endDate?: string } {
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

export const explainEvent = (given: Given): Promise<void> =>
  withService(given, async (posthorn) => {
    const { subscriptions } = await posthorn.events.explain(given.operand());
    await printList(given, subscriptions, [
      ['SUBSCRIPTION', ({ name }) => name],
      ['ENDPOINT', ({ endpoint_id }) => endpoint_id],
      ['MATCHED', ({ matched }) => (matched ? 'yes' : 'no')],
      ['REASON', ({ reason }) => reason],
    ]);
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

export const getDelivery = (given: Given): Promise<void> =>
  withService(given, async (posthorn) => {
    const delivery = await posthorn.eventDeliveries.get(given.operand());
    await printOne(given, delivery);
    const { waits_behind: ahead } = delivery;
    if (ahead === null || !isTable(given)) return;
    const { event_delivery_id: id, ordering_key_id: key, acts } = ahead;
    const commands = {
      resend: `retry ${id}`,
      skip: `ordering-keys skip '${key}'`,
      send_now: `deliveries send-now ${id}`,
    };
    note(`posthorn: it waits for the delivery ${id}; see posthorn deliveries get ${id}`);
    for (const act of acts) if (act !== 'cancel') note(`  posthorn ${commands[act]}`);
  });

export const listAttempts = (given: Given): Promise<void> =>
  withService(given, async (posthorn) => {
    await printList(given, await posthorn.deliveryAttempts.list(given.operand()), [
      ['UID', ({ uid }) => uid],
      ['STATUS', ({ http_status, error }) => http_status || error],
      ['ADDRESS', ({ ip_address }) => ip_address],
      ['ANSWER', ({ response_data }) => response_data.slice(0, 60)],
      ['CREATED', ({ created_at }) => created_at],
    ]);
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
      ...given.fields({ subscriptionId: 'subscription' }),
    }),
);

export const skipOrderingKeys = (given: Given): Promise<void> =>
  withService(given, async (posthorn) => {
    const result = await posthorn.subscriptions.skipOrderingKeys({ ids: [...given.operands] });
    await printOne(given, result, [`${counted(result.released, 'delivery', 'deliveries')} due now`]);
  });

export const listJobs = many<Job>(
  [
    ['UID', ({ uid }) => uid],
    ['TYPE', ({ type }) => type],
    ['STATUS', ({ status }) => status],
    ['DONE', ({ done, total }) => (total === null ? String(done) : `${done}/${total}`)],
    ['FAILED', ({ failed }) => failed],
    ['ERROR', ({ error }) => error],
    ['CREATED', ({ created_at }) => created_at],
  ],
  (posthorn) => posthorn.jobs.list(),
);

export const getJob = one((posthorn, given) => posthorn.jobs.get(given.operand()));

export const cancelJob = one((posthorn, given) => posthorn.jobs.cancel(given.operand()));
