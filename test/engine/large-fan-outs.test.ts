import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** A fan-out over 1,000 deliveries is stored as a list of subscriptions and expanded in chunks. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

/** A project with one endpoint that has many subscriptions to the type `big`. */
async function manySubscriptions(
  count: number,
  { paused = true, path = '/paused' } = {},
): Promise<{ client: ApiClient; endpoint: Json; send(): Promise<Json> }> {
  const client = await app.newProject();
  const { endpoint } = await subscribe(client, `${receiver.url}${path}`, { eventTypes: ['other'] });
  if (paused) await client.put(`/endpoints/${endpoint.uid}/pause`);
  await app.database.query(
    `with changed as (update projects set version = version + 1 where id = $1 returning version as now_version)
     insert into subscriptions (id, project_id, version, name, type, status, endpoint_id, source_id, event_types, filter, filters, function, delivery_mode)
     select left(id, 16) || lpad(n::text, 10, '0'), project_id, now_version, name, type, status, endpoint_id, source_id, '{big}', filter, replace(filters::text, '"other"', '"big"')::json, function, delivery_mode
     from changed, subscriptions, generate_series(1, $2) n where project_id = $1`,
    [client.projectId, count],
  );
  const send = () => client.post('/events', { endpoint_id: endpoint.uid, event_type: 'big', data: {} });
  return { client, endpoint, send };
}

const expanded = (client: ApiClient, event: Json) =>
  eventually(
    () => client.get(`/events/${event.uid}`),
    ({ status }) => status === 'Success',
  );

async function deliveriesOf(event: Json): Promise<Json> {
  const [counted] = await app.database.query(
    'select count(*)::int as all, count(distinct subscription_id)::int as distinct from event_deliveries where event_id = $1',
    [event.uid],
  );
  return counted;
}

test('a fan-out over a thousand deliveries is expanded in chunks and all arrive', async () => {
  const { client, send } = await manySubscriptions(2_500, { paused: false, path: '/fan-out' });
  const event = await send();
  expect(event.status).toBe('Processing');
  await eventually(
    async () => receiver.requests.filter(({ path }) => path === '/fan-out').length,
    (count) => count >= 2_500,
  );
  await expanded(client, event);
  expect(await deliveriesOf(event)).toEqual({ all: 2_500, distinct: 2_500 });
});

test('the fan-out of a deleted project is dropped, and that of another project goes on', async () => {
  const gone = await app.newProject();
  const event = await gone.post('/events/broadcast', { event_type: 'a', data: {} });
  await gone.delete('');
  await app.database.query(
    `insert into expansions (event_id, project_id, subscription_ids) values ($1, $2, '{a,b}')`,
    [event.uid, gone.projectId],
  );
  const { client, send } = await manySubscriptions(1_001);
  const other = await send();
  await expanded(client, other);
  expect(await deliveriesOf(other)).toEqual({ all: 1_001, distinct: 1_001 });
  expect(await app.database.query('select event_id from expansions')).toEqual([]);
});

test('a fan-out that cannot be stored waits, and those behind it go on', async () => {
  const stuck = await manySubscriptions(1_001);
  await app.database.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await app.database.query(
    `create trigger refuse before update or delete on expansions for each row
     when (old.project_id = '${stuck.client.projectId}') execute function refuse()`,
  );
  const first = await stuck.send();
  const { client, send } = await manySubscriptions(1_001);
  const second = await send();
  await expanded(client, second);
  expect(await deliveriesOf(first)).toEqual({ all: 0, distinct: 0 });
  await app.database.query('drop trigger refuse on expansions');
  await expanded(stuck.client, first);
  expect(await deliveriesOf(first)).toEqual({ all: 1_001, distinct: 1_001 });
});
