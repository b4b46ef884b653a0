import { createHmac } from 'node:crypto';
import pg from 'pg';
import { expect, test } from 'vitest';
import { httpSource, portalOf, startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { PullScene, resultOf } from './consumer.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const { project } = app;

test('a consumer gets the bytes and signatures of a push, and its result ends the delivery', async () => {
  const scene = await PullScene.make(project);
  await scene.send(1, { text: 'ü' });
  const listed = async (gate: string) =>
    (await project.get(`/eventdeliveries?waitingFor=${gate}&endpointId=${scene.endpoint.uid}`)).content
      .length;
  expect(await listed('pull')).toBe(1);
  const [taken] = await scene.pull({ max: 5 });
  const body = Buffer.from(taken.body, 'base64');
  expect(JSON.parse(body.toString())).toEqual({ n: 0, text: 'ü' });
  expect(taken).toMatchObject({ event_type: scene.eventType, attempt: 1, url_query_params: '' });
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = taken.headers;
  const key = Buffer.from(scene.endpoint.standard_webhooks_secret.replace('whsec_', ''), 'base64');
  const signed = createHmac('sha256', key).update(`${id}.${at}.${body.toString()}`).digest('base64');
  expect(signature.split(' ')).toContain(`v1,${signed}`);
  expect(id).toBe(taken.uid);

  expect((await scene.delivery(taken.uid)).waiting_for).toEqual({
    gate: 'sending',
    until: taken.leased_until,
  });
  expect([await listed('pull'), await listed('sending')]).toEqual([0, 1]);
  expect(await scene.report([resultOf(taken)])).toEqual(['recorded']);
  expect(await scene.delivery(taken.uid)).toMatchObject({ status: 'Success', last_outcome: 'reported_ok' });
  const [attempt, ...others] = await scene.attempts(taken.uid);
  expect(others).toEqual([]);
  expect(attempt).toMatchObject({ status: true, is_stale: false, url: '', http_status: '', error: '' });
  expect(attempt.request_http_header['webhook-signature']).toBe(signature);
  // A repeated result changes nothing and adds no attempt.
  expect(await scene.report([resultOf(taken)])).toEqual(['recorded']);
  expect(await scene.attempts(taken.uid)).toHaveLength(1);
});

test('a result that contradicts the recorded one of its lease is a conflict and changes nothing', async () => {
  const scene = await PullScene.make(project);
  await scene.send(2);
  const [good, bad] = await scene.pull({ max: 2 });
  const failed = resultOf(bad, false, 'out of stock');
  expect(await scene.report([resultOf(good), failed])).toEqual(['recorded', 'recorded']);
  const again = [resultOf(good, false, 'no'), resultOf(bad), resultOf(bad, false, 'other reason')];
  for (const result of again) expect(await scene.report([result])).toEqual(['conflict']);
  expect(await scene.report([resultOf(good), failed])).toEqual(['recorded', 'recorded']);
  for (const [{ uid }, status] of [
    [good, 'Success'],
    [bad, 'Retry'],
  ]) {
    expect((await scene.delivery(uid)).status).toBe(status);
    expect(await scene.attempts(uid)).toHaveLength(1);
  }
  // The first of two results in one call counts.
  await scene.send();
  const [third] = await scene.pull();
  expect(await scene.report([resultOf(third), resultOf(third, false), resultOf(third)])).toEqual([
    'recorded',
    'conflict',
    'recorded',
  ]);
  expect((await scene.delivery(third.uid)).status).toBe('Success');
});

test('a consumer gets the query of the request that brought the event', async () => {
  const source = await httpSource(project);
  const scene = await PullScene.make(project, {
    subscription: { source_id: source.uid, filter_config: { event_types: ['*'] } },
  });
  await fetch(`${app.url}/ingest/${source.mask_id}?a=1&b=%20`, { method: 'POST', body: '{}' });
  const [taken] = await scene.pull();
  expect(taken.url_query_params).toBe('a=1&b=%20');
});

test('a waiting consumer is called when a delivery comes, and an empty call ends when its time is over', async () => {
  const scene = await PullScene.make(project);
  const waiting = scene.pull();
  await scene.send();
  expect(await waiting).toHaveLength(1);
  expect(await scene.pull({ wait_seconds: 0 })).toEqual([]);
  expect(await scene.pull({ wait_seconds: 1 })).toEqual([]);
});

test('a reported failure uses a retry with its reason, until none is left', async () => {
  const retry_config = { type: 'linear', interval_seconds: 1, retry_count: 1 };
  const scene = await PullScene.make(project, { subscription: { retry_config } });
  await scene.send();
  const [first] = await scene.pull();
  await scene.report([resultOf(first, false, 'out of stock')]);
  expect(await scene.delivery(first.uid)).toMatchObject({
    status: 'Retry',
    last_outcome: 'reported_failure',
  });
  const [second] = await scene.pull();
  expect(second).toMatchObject({ uid: first.uid, attempt: 2 });
  expect(second.lease).not.toBe(first.lease);
  await scene.report([resultOf(second, false, 'out of stock')]);
  expect(await scene.delivery(first.uid)).toMatchObject({
    status: 'Failure',
    description: 'out of stock; all 2 attempts are used up',
  });
  const errors = (await scene.attempts(first.uid)).map(({ error }) => error);
  expect(errors).toEqual(['out of stock', 'out of stock']);
});

test('a lease that ends is an attempt without a result, and a late result changes nothing', async () => {
  const retry_config = { type: 'linear', interval_seconds: 1, retry_count: 5 };
  const scene = await PullScene.make(project, { subscription: { retry_config } });
  await scene.send();
  const [first] = await scene.pull({ lease_seconds: 1 });
  const [second] = await scene.pull();
  expect(second).toMatchObject({ uid: first.uid, attempt: 2 });
  expect(await scene.report([resultOf(first)])).toEqual(['late']);
  expect(await scene.delivery(first.uid)).toMatchObject({ status: 'Retry', last_outcome: 'no_result' });
  expect(await scene.report([resultOf(second)])).toEqual(['recorded']);
  const attempts = await scene.attempts(first.uid);
  const shown = attempts.map(({ error, is_stale, status }) => [error, is_stale, status]);
  expect(shown).toHaveLength(3);
  expect(shown).toEqual(
    expect.arrayContaining([
      ['No result within the lease', false, false],
      ['', true, true],
      ['', false, true],
    ]),
  );
  expect(await scene.delivery(first.uid)).toMatchObject({ status: 'Success', metadata: { num_trials: 2 } });
});

test('at most once: a taken delivery is sent, whatever its consumer does', async () => {
  const scene = await PullScene.make(project, { subscription: { delivery_mode: 'at_most_once' } });
  await scene.send(2);
  const [failed, lost] = await scene.pull({ lease_seconds: 2 });
  await scene.report([resultOf(failed, false, 'broken')]);
  expect(await scene.delivery(failed.uid)).toMatchObject({ status: 'Failure' });
  const ended = await eventually(() => scene.delivery(lost.uid), { status: 'Failure' });
  expect(ended.description).toBe('No result within the lease; at most once, so it is not retried');
});

test('a pause, a limit, a function and a filter hold', async () => {
  const scene = await PullScene.make(project, {
    endpoint: { rate_limit: 2, rate_limit_duration: 2 },
    subscription: {
      function: 'function transform(payload) { return { made: payload.n }; }',
      filter_config: { event_types: ['*'], filter: { body: { n: { $lt: 3 } } } },
    },
  });
  await project.put(`/endpoints/${scene.endpoint.uid}/pause`);
  await scene.send(5);
  expect(await scene.pull({ wait_seconds: 1 })).toEqual([]);
  await project.put(`/endpoints/${scene.endpoint.uid}/pause`);
  const first = await scene.pull({ max: 10 });
  const second = await scene.pull({ max: 10 });
  expect([first.length, second.length]).toEqual([2, 1]);
  const bodies = [...first, ...second].map(({ body }) => JSON.parse(Buffer.from(body, 'base64').toString()));
  expect(new Set(bodies.map(({ made }) => made))).toEqual(new Set([0, 1, 2]));
  const at = ({ headers }: { headers: Record<string, string> }) => Number(headers['webhook-timestamp']);
  expect(at(second[0]) - at(first[0])).toBeGreaterThanOrEqual(1);
  expect(await scene.report([...first, ...second].map((taken) => resultOf(taken)))).toEqual(
    Array.from({ length: 3 }, () => 'recorded'),
  );
});

test('a function that fails ends its delivery and hands out the others', async () => {
  const scene = await PullScene.make(project, {
    subscription: { function: 'function transform(p) { if (p.n === 0) throw new Error("no"); return p; }' },
  });
  await scene.send(2);
  const taken = await eventually(() => scene.pull({ max: 2 }), { length: atLeast(1) });
  expect(taken).toHaveLength(1);
  await eventually(() => project.get(`/eventdeliveries?endpointId=${scene.endpoint.uid}&status=Failure`), {
    content: { length: 1 },
  });
});

test('headers of a function reach the consumer, also with the next try after it changed; one that cancels hands out nothing', async () => {
  await project.put('', { variables: { TOKEN: 'token-of-the-consumer' } });
  const code = (header: string) =>
    `export const version = 2;
     const transform = (p, c) => p.n ? { cancel: 'no' } : { headers: { 'X-Made': ${header} } };`;
  const scene = await PullScene.make(project, {
    subscription: {
      function: code('c.variables.TOKEN'),
      retry_config: { type: 'linear', interval_seconds: 1, retry_count: 2 },
    },
  });
  await scene.send(2);
  const [taken, ...others] = await scene.pull({ max: 2 });
  expect(others).toEqual([]);
  expect(await scene.report([resultOf(taken, false)])).toEqual(['recorded']);
  const { subscription_id: uid } = await scene.delivery(taken.uid);
  await project.put(`/subscriptions/${uid}`, { function: code('"other"') });
  const [again] = await scene.pull({ wait_seconds: 20 });
  expect([taken, again].map(({ headers }) => headers['X-Made'])).toEqual(
    Array(2).fill('token-of-the-consumer'),
  );
  const [attempt] = await scene.attempts(taken.uid);
  expect(attempt.request_http_header['X-Made']).toBe('***');
  expect(await scene.report([resultOf(again)])).toEqual(['recorded']);
  const query = `endpointId=${scene.endpoint.uid}&status=Discarded`;
  expect((await project.get(`/eventdeliveries?${query}`)).content).toHaveLength(1);
});

// proves Endpoints: delivery
test('a change of delivery moves what waits, both ways', async () => {
  const url = `${receiver.url}/moved`;
  const scene = await PullScene.make(project, { endpoint: { url } });
  await scene.send(3);
  const [taken] = await scene.pull({ max: 1 });
  await project.put(`/endpoints/${scene.endpoint.uid}`, { delivery: 'push' });
  const arrived = () => receiver.requests.filter(({ path }) => path === '/moved').length;
  await eventually(async () => arrived(), 2);
  expect(await scene.report([resultOf(taken)])).toEqual(['recorded']);
  await scene.client.post(scene.path, {}, 400);
  await project.put(`/endpoints/${scene.endpoint.uid}`, { delivery: 'pull' });
  await scene.send();
  expect(await scene.pull()).toHaveLength(1);
  expect(arrived()).toBe(2);
});

test('a subscription with a limit that moves to a pull endpoint takes no delivery of its former one along', async () => {
  const { endpoint, subscription } = await subscribe(project, `${receiver.url}/former`, {
    eventTypes: ['former'],
    subscription: { rate_limit_config: { count: 100, duration: 1 } },
  });
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await project.post('/events/broadcast', { event_type: 'former', data: {} });
  const scene = await PullScene.make(project);
  await project.put(`/subscriptions/${subscription.uid}`, { endpoint_id: scene.endpoint.uid });
  expect(await scene.pull({ wait_seconds: 0 })).toEqual([]);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await receiver.received(1, '/former');
});

test('failures open no circuit breaker and do not disable the endpoint', async () => {
  const client = await app.newProject({
    disable_endpoint: true,
    circuit_breaker: {
      sample_rate: 1,
      error_timeout: 30,
      failure_threshold: 1,
      success_threshold: 1,
      observability_window: 5,
      minimum_request_count: 1,
      consecutive_failure_threshold: 1,
    },
    strategy: { type: 'linear', duration: 1, retry_count: 1 },
  });
  const scene = await PullScene.make(client);
  await scene.send(5);
  const taken = await scene.pull({ max: 5, lease_seconds: 2 });
  await scene.report(taken.slice(0, 3).map((one) => resultOf(one, false, 'no')));
  await eventually(() => client.get(`/eventdeliveries?endpointId=${scene.endpoint.uid}&status=Failure`), {
    content: { length: 5 },
  });
  await scene.send();
  expect(await scene.pull()).toHaveLength(1);
  expect(await client.get(`/endpoints/${scene.endpoint.uid}`)).toMatchObject({
    status: 'active',
    cb_state: 'closed',
  });
});

test('a result needs the lease of its own delivery and endpoint', async () => {
  const [scene, other] = await Promise.all([PullScene.make(project), PullScene.make(project)]);
  await scene.send(2);
  const [one, two] = await scene.pull({ max: 2 });
  const forged = { ...one, lease: two.lease };
  const guessed = { ...one, lease: one.lease.replace(/.$/, (char: string) => (char === 'A' ? 'B' : 'A')) };
  expect(await scene.report([resultOf(forged)])).toEqual(['unknown']);
  expect(await scene.report([resultOf(guessed)])).toEqual(['unknown']);
  for (const lease of [one.lease.slice(0, -1), `${one.lease}A`, one.lease.replace(/.$/, 'ü'), 'no lease'])
    expect(await scene.report([resultOf({ ...one, lease })])).toEqual(['unknown']);
  expect(await other.report([resultOf(one)])).toEqual(['unknown']);
  await project.post(`${scene.path}/results`, { results: [] }, 400);
  expect(await scene.report([resultOf(two), resultOf(one)])).toEqual(['recorded', 'recorded']);
});

test('a delivery that is cancelled while a consumer has it stays cancelled', async () => {
  const scene = await PullScene.make(project);
  await scene.send();
  const [taken] = await scene.pull();
  await project.post(`/eventdeliveries/cancel?endpointId=${scene.endpoint.uid}`, undefined, 200);
  await eventually(() => scene.delivery(taken.uid), { status: 'Discarded' });
  expect(await scene.report([resultOf(taken)])).toEqual(['late']);
  expect(await scene.delivery(taken.uid)).toMatchObject({ status: 'Discarded' });
});

test('a portal link pulls for its owner, and for no other', async () => {
  const scene = await PullScene.make(project, { endpoint: { owner_id: 'owner-of-pull' } });
  const stranger = await PullScene.make(project);
  const portal = await portalOf(project, 'owner-of-pull');
  await scene.send();
  const [taken] = await scene.pull({}, portal);
  expect(taken.headers['Content-Type']).toBe('application/json');
  expect(await scene.report([resultOf(taken)], portal)).toEqual(['recorded']);
  await portal.post(stranger.path, {}, 404);
  await portal.post(`${stranger.path}/results`, { results: [resultOf(taken)] }, 404);
});

test('a portal link that may not see secrets gets those in headers masked', async () => {
  const client = await app.newProject();
  await client.put('', { variables: { TOKEN: 'tok-of-the-project' } });
  const code = `export const version = 2;
    function transform(payload, { variables }) {
      return { headers: { 'X-Made': 'Bearer ' + variables.TOKEN, Cookie: 'encoded', 'X-Plain': 'set' } };
    }`;
  const scene = await PullScene.make(client, {
    endpoint: { owner_id: 'owner-of-pull', headers: { 'X-Odd': 'of the endpoint' } },
    subscription: { function: code },
  });
  const link = (can_see_secrets: boolean) =>
    client.post('/portal-links', { name: 'pull', owner_id: 'owner-of-pull', can_see_secrets });
  const portals = [await link(false), await link(true)].map(
    ({ token }) => new ApiClient(`${app.url}/portal-api`, token),
  );
  const seen = [];
  for (const caller of [...portals, client]) {
    await scene.send();
    const [taken] = await scene.pull({}, caller);
    expect(taken.headers).toMatchObject({
      'X-Plain': 'set',
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
    seen.push(['X-Odd', 'X-Made', 'Cookie'].map((name) => taken.headers[name]));
  }
  const all = ['of the endpoint', 'Bearer tok-of-the-project', 'encoded'];
  expect(seen).toEqual([['***', '***', '***'], all, all]);
});

test('a push endpoint needs a url, a pull endpoint does not', async () => {
  await project.post('/endpoints', { name: 'no url' }, 400);
  const endpoint = await project.post('/endpoints', { name: 'no url', delivery: 'pull' });
  expect(endpoint).toMatchObject({ delivery: 'pull', url: '' });
  await project.put(`/endpoints/${endpoint.uid}`, { delivery: 'push' }, 400);
  await project.put(`/endpoints/${endpoint.uid}`, { delivery: 'push', url: receiver.url });
});

test('pulls over the bound are refused with the bound, and those within it get deliveries', async () => {
  const client = await app.newProject();
  const scene = await PullScene.make(client);
  const refusals: string[] = [];
  const calls = Array.from({ length: 300 }, async () => {
    const answer = await client.raw('POST', scene.path, { body: { wait_seconds: 30, max: 1 } });
    const { message, data } = (await answer.json()) as Json;
    if (answer.status === 200) return data.deliveries.length as number;
    refusals.push(`${answer.status} ${answer.headers.get('retry-after')} ${message}`);
    return 0;
  });
  await eventually(async () => refusals.length, 200);
  await scene.send(100);
  const taken = await Promise.all(calls);
  expect(taken.filter((count) => count === 1)).toHaveLength(100);
  expect(new Set(refusals)).toEqual(
    new Set(['429 5 An endpoint may have at most 100 pulls on a node at a time; try again in 5 s.']),
  );
});

test('a pull that waits in line for its turn ends when its time is over', async () => {
  const client = await app.newProject();
  const scene = await PullScene.make(client);
  const holder = new pg.Client(app.database.url);
  await holder.connect();
  // The four calls whose turn it is hang.
  await holder.query('begin; lock table delivery_queue in access exclusive mode');
  let ended = 0;
  const calls = Array.from({ length: 20 }, async () => {
    const { status } = await client.raw('POST', scene.path, { body: { wait_seconds: 1 } });
    if (status === 200) ended += 1;
  });
  await eventually(async () => ended, 16);
  await holder.query('rollback');
  await holder.end();
  await Promise.all(calls);
});
