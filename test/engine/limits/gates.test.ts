import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually, every } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const send = (eventType: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      app.project.post('/events/broadcast', { event_type: eventType, data: { n } }),
    ),
  );

const deliveriesOf = async (endpointId: string): Promise<Json[]> =>
  (await app.project.get(`/eventdeliveries?perPage=1000&endpointId=${endpointId}`)).content;

/** The most requests that fall into any interval of the length. */
function busiest(times: number[], lengthMs: number): number {
  return Math.max(...times.map((start) => times.filter((at) => at >= start && at < start + lengthMs).length));
}

// proves Endpoints: rate_limit
test('an endpoint rate limit holds in any interval, over two nodes, and uses no retry', async () => {
  await app.addNode();
  const { endpoint } = await subscribe(app.project, `${receiver.url}/limited`, {
    eventTypes: ['limited'],
    endpoint: { rate_limit: 5, rate_limit_duration: 1 },
  });
  await send('limited', 20);
  const attempts = await eventually(
    () =>
      app.database.query(
        "select extract(epoch from requested_at)::float8 * 1000 as at from attempts a join endpoints e on e.id = a.endpoint_id where e.url like '%/limited'",
      ),
    { length: 20 },
  );
  // By the time of dispatch; arrival depends on how busy the machine is.
  expect(
    busiest(
      attempts.map((row) => Number(row['at'])),
      1_000,
    ),
  ).toBeLessThanOrEqual(5);
  const done = await eventually(() => deliveriesOf(endpoint.uid), every({ status: 'Success' }));
  expect(new Set(done.map((d) => d.metadata.num_trials))).toEqual(new Set([1]));
});

// differs Sending: `rate_limit_config` of a subscription is applied. [Rate limits hold](guarantees.md) and use
//   no retry. Deliveries to a paused endpoint wait, so a pause loses nothing.
test('a limited subscription does not delay another one on the same endpoint', async () => {
  const { endpoint } = await subscribe(app.project, `${receiver.url}/siblings`, {
    eventTypes: ['slow.sibling'],
    subscription: { rate_limit_config: { count: 1, duration: 60 } },
  });
  await app.project.post('/subscriptions', {
    name: 'free sibling',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['free.sibling'] },
  });
  await send('slow.sibling', 30);
  await send('free.sibling', 30);
  const done = await eventually(
    () => deliveriesOf(endpoint.uid),
    (all) => all.filter((d) => d.status === 'Success').length >= 31,
  );
  const successes = (type: string) =>
    done.filter((d) => d.event_type === type && d.status === 'Success').length;
  expect({ slow: successes('slow.sibling'), free: successes('free.sibling') }).toEqual({ slow: 1, free: 30 });
});

test('a breaker opens on failures, blocks, probes, and closes when the endpoint recovers', async () => {
  const client = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 50 },
    circuit_breaker: { sample_rate: 1, error_timeout: 2, minimum_request_count: 5 },
  });
  let isBroken = true;
  receiver.answerAlways((request, response) => {
    response.writeHead(request.path === '/breaker' && isBroken ? 500 : 200).end();
  });
  const { endpoint } = await subscribe(client, `${receiver.url}/breaker`, { eventTypes: ['*'] });
  for (let n = 0; n < 10; n++) await client.post('/events/broadcast', { event_type: 'x', data: { n } });
  const state = async () =>
    (
      await app.database.query('select state, trips from endpoint_breakers where endpoint_id = $1', [
        endpoint.uid,
      ])
    )[0];
  await eventually(state, { state: 'open' });
  const whenOpen = receiver.at('/breaker').length;
  await eventually(state, (row) => Number(row?.['trips']) >= 2);
  // Between two openings only probes went out, one at a time.
  expect(receiver.at('/breaker').length - whenOpen).toBeLessThanOrEqual(3);
  isBroken = false;
  await eventually(state, { state: 'closed' });
  await eventually(
    async () => (await client.get('/eventdeliveries')).content as Json[],
    every({ status: 'Success' }, 10),
  );
  receiver.answerAlways(200);
});

test('deliveries that wait when their project is deleted end as discarded', async () => {
  const client = await app.newProject();
  const { endpoint } = await subscribe(client, `${receiver.url}/deleted`);
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await client.post('/events/broadcast', { event_type: 'x', data: {} });
  await client.delete('');
  const states = () =>
    app.database.query('select status from event_deliveries where endpoint_id = $1', [endpoint.uid]);
  await eventually(states, [{ status: 'Discarded' }]);
  expect(receiver.at('/deleted')).toEqual([]);
});
