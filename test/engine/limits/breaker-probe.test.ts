import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { LANE } from '../../../src/domain/delivery.ts';
import { asId, type EndpointId } from '../../../src/domain/ids.ts';
import { takeProbes } from '../../../src/store/limits/breakers.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { countStatements } from '../../support/count-statements.ts';
import { atLeast, eventually, every } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** The right to probe a half-open endpoint: held by one delivery at a time, and by none that is not being sent. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

/** Far beyond the length of a test: a probe that were not released would block its endpoint until the test fails. */
const HTTP_TIMEOUT = 120;
let number = 0;

async function project(config: object = {}, endpoint: object = {}, subscription: object = {}) {
  number += 1;
  const path = `/probe-${number}`;
  const client = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 100 },
    circuit_breaker: { sample_rate: 1, error_timeout: 1, minimum_request_count: 4, success_threshold: 1 },
    ...config,
  });
  const subscribed = await subscribe(client, `${receiver.url}${path}`, {
    endpoint: { http_timeout: HTTP_TIMEOUT, ...endpoint },
    subscription,
  });
  const endpointId = asId<EndpointId>(subscribed.endpoint.uid);
  return {
    client,
    endpointId,
    projectId: client.projectId as string,
    send: (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          client.post('/events/broadcast', { event_type: 'a', data: { n } }),
        ),
      ),
    path,
    deliveries: async (): Promise<Json[]> => (await client.get('/eventdeliveries?perPage=1000')).content,
    breaker: async () =>
      (
        await app.database.query(
          'select state, trips, probes, probe_until is not null as is_probed from endpoint_breakers where endpoint_id = $1',
          [endpointId],
        )
      )[0],
  };
}

type Case = Awaited<ReturnType<typeof project>>;

/** Opens the breaker as a node would; nodes learn of it with the project's version. */
async function open({ endpointId, projectId, client }: Case): Promise<void> {
  await app.database.query(
    `with v as (update projects set version = version + 1 where id = $2 returning version)
     insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
     select $1, $2, version, 'open', 1, 0, now() from v`,
    [endpointId, projectId],
  );
  await shown(client, `/endpoints/${endpointId}`, { cb_state: 'half-open' });
}

const succeeds = (of: Case, count: number) =>
  eventually(of.deliveries, (all) => all.filter(({ status }) => status === 'Success').length === count);

test('a test of an endpoint goes through its breaker, and neither closes nor feeds it', async () => {
  const of = await project();
  await open(of);
  const before = await of.breaker();
  const path = `/endpoints/${of.endpointId}/test`;
  expect(await of.client.post(path, {}, 200)).toMatchObject({ status: true, cb_state: 'half-open' });
  receiver.answerNext(...Array<number>(5).fill(500));
  for (let n = 0; n < 5; n++)
    expect(await of.client.post(path, {}, 200)).toMatchObject({ status: false, outcome: 'http_500' });
  expect([await of.breaker(), await of.deliveries()]).toEqual([before, []]);
});

test('attempts in flight when a breaker opens are not probes and do not count against it', async () => {
  const of = await project({
    disable_endpoint: true,
    circuit_breaker: {
      sample_rate: 1,
      error_timeout: 3_600,
      minimum_request_count: 4,
      consecutive_failure_threshold: 3,
    },
  });
  const held: ServerResponse[] = [];
  receiver.answerAlways(({ json }, response) => {
    if (json.n >= 10) response.writeHead(500).end();
    else held.push(response);
  });
  await of.send(20);
  await eventually(of.breaker, { state: 'open' });
  expect(held).toHaveLength(10);
  for (const response of held) response.writeHead(500).end();
  await eventually(of.deliveries, every({ status: 'Retry' }));
  // Their effect, if any, is visible once a later change of the config is.
  await of.client.put(`/endpoints/${of.endpointId}`, { name: 'later', url: `${receiver.url}/later` });
  expect(await of.breaker()).toMatchObject({ state: 'open', trips: 1 });
  expect((await of.client.get(`/endpoints/${of.endpointId}`)).status).toBe('active');
});

test('a batch is one probe, and the other batches follow when it succeeds', async () => {
  const of = await project({}, {}, { batch: { max: 3, max_wait_seconds: 1 } });
  await open(of);
  const held: ServerResponse[] = [];
  receiver.answerAlways((_, response) => held.push(response));
  await of.send(9);
  await eventually(of.breaker, (row) => row?.['is_probed'] === true && held.length > 0);
  // A failed probe opens it again, and the same batch may be the next one.
  held.pop()?.writeHead(500).end();
  await eventually(of.breaker, { trips: 2 });
  await eventually(of.breaker, (row) => row?.['is_probed'] === true && held.length > 0);
  const requests = () => receiver.requests.filter((request) => request.path === of.path);
  expect(requests().map(({ json }) => json.length)).toEqual([3, 3]);
  receiver.answerAlways(200);
  held.pop()?.writeHead(200).end();
  await succeeds(of, 9);
  expect(await of.breaker()).toMatchObject({ state: 'closed', is_probed: false });
  expect(held).toEqual([]);
  expect(requests().map(({ json }) => json.length)).toEqual([3, 3, 3, 3]);
});

test('the probe of a rolled back claim is free for the next', async () => {
  receiver.answerAlways(200);
  const of = await project();
  await open(of);
  await app.database.query(`
    create sequence refused_claims;
    create function refuse_claim() returns trigger language plpgsql as $$
    begin
      perform nextval('refused_claims');
      raise exception 'the claim is refused' using errcode = 'deadlock_detected';
    end $$;
    create trigger refuse_claim before update on delivery_queue for each row
      when (new.node_id is not null and new.key = '${of.endpointId}') execute function refuse_claim()`);
  await of.send(1);
  // A sequence counts on through a rollback.
  await eventually(() => app.database.query('select is_called from refused_claims'), [{ is_called: true }]);
  await app.database.query('drop trigger refuse_claim on delivery_queue');
  await succeeds(of, 1);
  // A breaker moves after the outcome is recorded.
  await eventually(of.breaker, { state: 'closed', is_probed: false });
});

test('a probe that is not sent is free for the next', async () => {
  receiver.answerAlways(200);
  // Credentials cannot be had: nothing is sent, and the delivery goes back.
  const of = await project(
    {},
    {
      authentication: {
        type: 'oauth2',
        oauth2: {
          url: 'http://127.0.0.1:9/token',
          client_id: 'id',
          grant_type: 'client_credentials',
          authentication_type: 'shared_secret',
          client_secret: 'secret',
        },
      },
    },
  );
  await open(of);
  await of.send(2);
  await eventually(of.deliveries, (all) => all.some(({ description }) => description !== ''));
  await of.client.put(`/endpoints/${of.endpointId}`, {
    name: 'without credentials',
    url: `${receiver.url}/without-credentials`,
    http_timeout: HTTP_TIMEOUT,
    authentication: {},
  });
  await succeeds(of, 2);
  await eventually(of.breaker, { state: 'closed' });
});

test('while one probe is in flight no node sends a second', async () => {
  const of = await project();
  await open(of);
  const second = await app.addNode();
  const held: ServerResponse[] = [];
  receiver.answerAlways((_request, response) => held.push(response));
  await of.send(10);
  await receiver.received(1, of.path);
  // The second node would see the rows within five seconds. Both look at a taken probe every second.
  second.engine.sink.waiting({ projectId: of.projectId, key: of.endpointId, lane: LANE.first });
  const looks = countStatements(/set probe_until = now/);
  await eventually(looks, atLeast(4));
  expect(receiver.at(of.path)).toHaveLength(1);
  receiver.answerAlways(200);
  held[0]?.end();
  await succeeds(of, 10);
});

/**
 * Two nodes, each with a probe in the receiver's hands: the first node held its probe past the right to it (as a node
 * does that stood still), so the second was given the right.
 */
async function twoProbes() {
  const of = await project({
    circuit_breaker: { sample_rate: 1, error_timeout: 1, minimum_request_count: 4, success_threshold: 100 },
  });
  await open(of);
  await app.addNode();
  const held: { response: ServerResponse; n: number }[] = [];
  receiver.answerAlways(({ json }, response) => held.push({ response, n: json.n }));
  await of.send(10);
  for (const count of [1, 2]) {
    await receiver.received(count, of.path);
    if (count === 1)
      await app.database.query(
        `update endpoint_breakers set probe_until = now() - interval '1 second' where endpoint_id = $1`,
        [of.endpointId],
      );
  }
  const [late, current] = held as [(typeof held)[0], (typeof held)[0]];
  return { of, late, current };
}

const ended = (of: Case, n: number) =>
  eventually(of.deliveries, (all) =>
    all.some(({ metadata }) => metadata.data.n === n && metadata.num_trials === 1),
  );

test.each([
  ['succeeds', 200],
  ['fails', 500],
])('a probe that %s after another took its place changes nothing', async (_name, status) => {
  const { of, late, current } = await twoProbes();
  late.response.writeHead(status).end();
  await ended(of, late.n);
  // Its effect, if any, is visible once a later change of the config is.
  await of.client.put(`/endpoints/${of.endpointId}`, { name: 'later', url: `${receiver.url}/later` });
  expect(await of.breaker()).toMatchObject({ state: 'open', trips: 1, probes: 0, is_probed: true });
  expect(receiver.at(of.path)).toHaveLength(2);
  receiver.answerAlways(200);
  current.response.writeHead(200).end();
  await succeeds(of, 10);
});

test('a node that does not know that the probe failed gets no other one', async () => {
  const { endpointId, projectId } = await project();
  const changed = async (interval: string) => {
    const [row] = await app.database.query(
      `insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, changed_at)
       values ($1, $2, 0, 'open', 1, now() - $3::interval)
       on conflict (endpoint_id) do update set changed_at = excluded.changed_at
       returning floor(extract(epoch from changed_at) * 1000)::float8 as ms`,
      [endpointId, projectId, interval],
    );
    return Number(row?.['ms']);
  };
  const db = app.database.open();
  const take = (changedMs: number) => takeProbes(db, [{ endpointId, seconds: 1, changedMs }]);
  const before = await changed('1 hour');
  const after = await changed('0 s');
  expect((await take(before)).size).toBe(0);
  expect((await take(after)).size).toBe(1);
});

test('a probe released after another took its place does not free it', async () => {
  const { of, late, current } = await twoProbes();
  await app.database.query(`
    create sequence refused_outcomes;
    create function refuse_outcome() returns trigger language plpgsql as $$
    begin
      perform nextval('refused_outcomes');
      raise exception 'the outcome is refused' using errcode = 'check_violation';
    end $$;
    create trigger refuse_outcome before update on event_deliveries for each row execute function refuse_outcome()`);
  late.response.writeHead(200).end();
  await eventually(() => app.database.query('select is_called from refused_outcomes'), [{ is_called: true }]);
  // The trigger goes only when the transaction that it refused has ended.
  await app.database.query('drop trigger refuse_outcome on event_deliveries');
  await eventually(
    () =>
      app.database.query('select delivery_id from delivery_queue where key = $1 and node_id is not null', [
        of.endpointId,
      ]),
    { length: 1 },
  );
  await of.client.put(`/endpoints/${of.endpointId}`, { name: 'later', url: `${receiver.url}/later` });
  expect(await of.breaker()).toMatchObject({ state: 'open', trips: 1, is_probed: true });
  receiver.answerAlways(200);
  current.response.writeHead(200).end();
  await succeeds(of, 10);
});
