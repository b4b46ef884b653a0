import { expect, test } from 'vitest';
import { subscribe } from '../../support/app.ts';
import {
  begun,
  broadcast,
  heldUpMs,
  shareOfLimit,
  slowToConnect,
  startScene,
  tightest,
} from './limit-scene.ts';

/**
 * Rate limits in both directions: never more than the limit in any interval, by the times of dispatch, and while work
 * waits hardly less, however far away the database is and whatever lies between claiming a delivery and sending it.
 */
const LIMIT = { count: 10, durationMs: 2_000 };
const limited = { rate_limit: 10, rate_limit_duration: 2 };
const EVENTS = 60;
const LEAST_SHARE = 0.95;
const FUNCTION =
  'function transform(payload) { let n = 0; for (let i = 0; i < 1e5; i++) n += i; return { ...payload, n }; }';

for (const [nodes, answerMs] of [
  [1, 0],
  [3, 20],
  [3, 500],
] as const) {
  test(`${nodes} node(s), database answers ${answerMs} ms late: a limit is kept and fully used`, async (context) => {
    const scene = await startScene(context, nodes);
    const { receiver, clients } = scene;
    const { project } = scene.app;
    receiver.answerAlways(({ path }, response) => {
      if (path === '/token') setTimeout(() => response.end('{"access_token":"t","expires_in":3600}'), 3_000);
      else response.end();
    });
    await subscribe(project, `${receiver.url}/plain`, { eventTypes: ['limited'], endpoint: limited });
    await subscribe(project, `${receiver.url}/function`, {
      eventTypes: ['limited'],
      endpoint: limited,
      subscription: { function: FUNCTION },
    });
    const oauth2 = {
      url: `${receiver.url}/token`,
      client_id: 'me',
      authentication_type: 'shared_secret',
      client_secret: 'hush',
    };
    await subscribe(project, `${receiver.url}/credentials`, {
      eventTypes: ['limited'],
      endpoint: { ...limited, authentication: { type: 'oauth2', oauth2 } },
    });
    await subscribe(project, `${await slowToConnect(context, 700)}/connect`, {
      eventTypes: ['limited'],
      endpoint: limited,
    });
    scene.relay.slow(answerMs);
    const stillBeforeMs = heldUpMs();
    await broadcast(clients, 'limited', EVENTS);
    for (const path of ['/plain', '/function', '/credentials', '/connect']) {
      const times = await begun(scene, path, EVENTS);
      expect(times, path).toHaveLength(EVENTS);
      expect(tightest(times, LIMIT.count), path).toBeGreaterThanOrEqual(LIMIT.durationMs);
      const stillMs = heldUpMs() - stillBeforeMs;
      const share = shareOfLimit(times, LIMIT, stillMs);
      expect(
        share,
        `${path}: ${times.map((at) => Math.round(at - times[0]!)).join(' ')}; ${stillMs}`,
      ).toBeGreaterThanOrEqual(LEAST_SHARE);
    }
  });
}

test('a delivery within its limit goes out with that of an unlimited endpoint, on any node that accepts it', async (context) => {
  const scene = await startScene(context, 2);
  const { receiver, clients, app } = scene;
  const endpoint = { rate_limit: 1_000, rate_limit_duration: 1 };
  await subscribe(app.project, `${receiver.url}/limited`, { eventTypes: ['soon'], endpoint });
  await subscribe(app.project, `${receiver.url}/unlimited`, { eventTypes: ['soon'] });
  // One of the two nodes that deliver counts the limit. The third caller's node does not deliver at all.
  const callers = [...clients, app.project];
  const behindMs: number[] = [];
  for (let n = 0; n < 30; n++) {
    await broadcast([callers[n % callers.length]!], 'soon', 1);
    await receiver.received(2 * (n + 1));
    const of = (path: string) => receiver.requests.slice(-2).find((request) => request.path === path)!.at;
    behindMs.push(of('/limited') - of('/unlimited'));
  }
  behindMs.sort((a, b) => a - b);
  // A busy machine holds up both. Without a word between the nodes two thirds of the limited ones would wait
  // for a sweep, which comes every five seconds.
  expect(behindMs[15], String(behindMs)).toBeLessThan(250);
  expect(behindMs[27], String(behindMs)).toBeLessThan(1_000);
});

test('a node that stops passes its limits on with the counts, and nothing is delayed', async (context) => {
  const scene = await startScene(context, 1);
  const { app, receiver } = scene;
  const limit = { count: 5, durationMs: 3_000 };
  await subscribe(app.project, `${receiver.url}/handed`, {
    eventTypes: ['handed'],
    endpoint: { rate_limit: 5, rate_limit_duration: 3 },
  });
  const next = await app.addNode({ POSTHORN_ROLES: 'deliver' });
  const holder = () => app.database.query('select node_id from rate_leases');
  await broadcast(scene.clients, 'handed', 25);
  await receiver.received(7);
  const [before] = await holder();
  const nodes = [scene.nodes[0]!, next];
  const stopping = nodes.find(({ engine }) => engine.nodeId === before?.['node_id'])!;
  await stopping.stop();
  const times = await begun(scene, '/handed', 25);
  expect(times).toHaveLength(25);
  expect((await holder())[0]).not.toEqual(before);
  expect(tightest(times, limit.count)).toBeGreaterThanOrEqual(limit.durationMs);
  expect(shareOfLimit(times, limit)).toBeGreaterThanOrEqual(0.8);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(25);
});

test('a limit of the endpoint and one of its subscription hold together', async (context) => {
  const scene = await startScene(context, 2);
  const { app, receiver, clients } = scene;
  const { endpoint } = await subscribe(app.project, `${receiver.url}/both`, {
    eventTypes: ['narrow'],
    endpoint: { rate_limit: 6, rate_limit_duration: 2 },
    subscription: { rate_limit_config: { count: 2, duration: 2 } },
  });
  await app.project.post('/subscriptions', {
    name: 'wide',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['wide'] },
  });
  await Promise.all([broadcast(clients, 'narrow', 8), broadcast(clients, 'wide', 24)]);
  const times = await begun(scene, '/both', 32);
  expect(tightest(times, 6)).toBeGreaterThanOrEqual(2_000);
  const rows = await app.database.query(
    `select extract(epoch from a.requested_at)::float8 * 1000 as at from attempts a
     join event_deliveries d on d.project_id = a.project_id and d.id = a.delivery_id
     where d.event_type = 'narrow' order by 1`,
  );
  expect(
    tightest(
      rows.map((row) => Number(row['at'])),
      2,
    ),
  ).toBeGreaterThanOrEqual(2_000);
});

test('a lowered limit counts earlier sends, and a removed limit releases deliveries at once', async (context) => {
  const scene = await startScene(context, 1);
  const { app, receiver, clients } = scene;
  const { endpoint } = await subscribe(app.project, `${receiver.url}/changed`, {
    eventTypes: ['changed'],
    endpoint: { rate_limit: 10, rate_limit_duration: 4 },
  });
  const change = (rate_limit: number, rate_limit_duration: number) =>
    app.project.put(`/endpoints/${endpoint.uid}`, {
      name: 'endpoint',
      url: `${receiver.url}/changed`,
      rate_limit,
      rate_limit_duration,
    });
  await broadcast(clients, 'changed', 40);
  await receiver.received(10);
  await change(2, 4);
  const lowered = await begun(scene, '/changed', 14);
  // Once the change is known, the ten from before fill the lower limit as well.
  expect(tightest(lowered.slice(8, 14), 2)).toBeGreaterThanOrEqual(4_000);
  await change(0, 0);
  await receiver.received(40);
  const freed = await begun(scene, '/changed', 40);
  expect(freed).toHaveLength(40);
});
