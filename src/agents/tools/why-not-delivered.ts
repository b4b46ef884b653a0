import { invalidParams } from '../protocol/json-rpc.ts';
import { type Json, type ProjectApi, Refused } from './project-api.ts';
import { attemptOf, compact, deliveryOf, endpointOf, pick, rows } from './shown.ts';
import { type Arguments, ID, type Tool } from './tool.ts';

const MAX_DELIVERIES = 5;
const MAX_ATTEMPTS = 3;

/** Everything that people look up one after another when a webhook did not arrive, in one answer. */
export const whyNotDelivered: Tool = {
  name: 'why_not_delivered',
  title: 'Why a webhook did not arrive',
  description:
    'For an event or one of its deliveries: the state, what it waits for (pause, circuit breaker, rate limit, order), the last attempts with the answers of the receiver, the state of the endpoint, and for each subscription why it matched or not. Give event_id or delivery_id; `find` gives ids.',
  properties: { event_id: ID('an event'), delivery_id: ID('a delivery') },
  run: async (api, given) => {
    const { eventId, chosen } = await deliveriesOf(api, given);
    const event = await api.get(`/events/${eventId}`);
    const explained = await explanation(api, eventId);
    return {
      event: pick(event, ['uid', 'event_type', 'status', 'failure_reason', 'waiting_for', 'created_at']),
      deliveries: await Promise.all(chosen.slice(0, MAX_DELIVERIES).map((row) => withAttempts(api, row))),
      ...compact({ more_deliveries: chosen.length > MAX_DELIVERIES ? chosen.length - MAX_DELIVERIES : null }),
      ...explained,
    };
  },
};

/** The deliveries that did not succeed come first. */
async function deliveriesOf(api: ProjectApi, given: Arguments): Promise<{ eventId: string; chosen: Json[] }> {
  const { event_id, delivery_id } = given;
  if ((event_id === undefined) === (delivery_id === undefined))
    throw invalidParams('Give event_id or delivery_id, and not both.');
  if (typeof delivery_id === 'string') {
    const row = await api.get(`/eventdeliveries/${encodeURIComponent(delivery_id)}`);
    return { eventId: row.event_id, chosen: [row] };
  }
  const { content } = await api.get('/eventdeliveries', { eventId: event_id, perPage: 50 });
  const isDone = (row: Json) => Number(row.status === 'Success');
  const eventId = encodeURIComponent(String(event_id));
  return { eventId, chosen: content.toSorted((a: Json, b: Json) => isDone(a) - isDone(b)) };
}

async function withAttempts(api: ProjectApi, row: Json): Promise<object> {
  const path = `/eventdeliveries/${row.uid}`;
  const [{ endpoint_metadata: endpoint }, attempts] = await Promise.all([
    api.get(path),
    api.get(`${path}/deliveryattempts`),
  ]);
  return {
    ...deliveryOf(row),
    endpoint: endpoint === null ? 'deleted' : endpointOf(endpoint),
    last_attempts: rows(attempts.toReversed(), attemptOf, MAX_ATTEMPTS),
  };
}

/** Portal links may not see the subscriptions of others, so they get no explanation. */
async function explanation(api: ProjectApi, eventId: string): Promise<object> {
  try {
    const { subscriptions, replay_deliveries } = await api.get(`/events/${eventId}/explain`);
    const fields = ['subscription_id', 'name', 'endpoint_id', 'matched', 'cause', 'reason'];
    const missed = subscriptions.toSorted((a: Json, b: Json) => Number(a.matched) - Number(b.matched));
    return {
      subscriptions_under_current_config: rows(missed, (row) => pick(row, fields)),
      a_replay_would_make_deliveries: replay_deliveries,
    };
  } catch (error) {
    if (error instanceof Refused && error.status === 403) return {};
    throw error;
  }
}
