import { afterAll, afterEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually, every } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/**
 * Many endpoints of one tenant change state together. Their cost for the database is counted in config versions and in
 * statements that wait for a connection: both must not grow with the number of endpoints.
 */
const ENDPOINTS = 120;
const AT_ONCE = 20;
/** A state change comes in a few batches: endpoints are not all seen in the same tick. */
const MOST_VERSIONS = 12;

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
/** The status that the endpoints of a test return. */
let status = 200;
let number = 0;
let mostWaiting = 0;

receiver.answerAlways((_request, response) => response.writeHead(status).end());
const watch = setInterval(() => {
  mostWaiting = Math.max(mostWaiting, app.app.db.pools().general.waiting);
}, 1);

afterEach(() => {
  status = 200;
});

afterAll(() => clearInterval(watch));

async function manyEndpoints(config: object, subscription: object = {}) {
  number += 1;
  const strategy = { type: 'linear', duration: 1, retry_count: 50 };
  const client = await app.newProject({ strategy, ...config });
  const { projectId } = client;
  for (let n = 0; n < ENDPOINTS; n += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) =>
        subscribe(client, `${receiver.url}/${number}/${n + i}`, { subscription }),
      ),
    );
  const from = await version(projectId);
  mostWaiting = 0;
  return {
    client,
    projectId,
    send: () => client.post('/events/broadcast', { event_type: 'a', data: {} }),
    versions: async () => (await version(projectId)) - from,
    endpoints: async (): Promise<Json[]> => (await client.get('/endpoints?perPage=1000')).content,
  };
}

async function version(projectId: string): Promise<number> {
  const [row] = await app.database.query('select version::int as version from projects where id = $1', [
    projectId,
  ]);
  return row?.['version'] as number;
}

const states = (rows: Json[], state: string) => rows.filter(({ cb_state }) => cb_state === state).length;
const breaker = { sample_rate: 1, minimum_request_count: 1, error_timeout: 3_600 };

test('endpoints that begin to fail together open their breakers in a few changes of the config', async () => {
  status = 500;
  const many = await manyEndpoints({ circuit_breaker: breaker });
  await many.send();
  await eventually(many.endpoints, (rows) => states(rows, 'open') === ENDPOINTS);
  expect(await many.versions()).toBeLessThanOrEqual(MOST_VERSIONS);
  expect(mostWaiting).toBeLessThan(AT_ONCE);
});

test('endpoints that recover together are probed, counted and closed in batches', async () => {
  status = 500;
  const many = await manyEndpoints({ circuit_breaker: { ...breaker, error_timeout: 1 } });
  await many.send();
  await eventually(
    () => app.database.query('select from endpoint_breakers where project_id = $1', [many.projectId]),
    { length: ENDPOINTS },
  );
  status = 200;
  const waiting = () =>
    app.database.query('select from delivery_queue where project_id = $1 limit 1', [many.projectId]);
  const probed = async () => {
    // A retry that was under way when its breaker opened has succeeded, and left nothing to probe with.
    if ((await waiting()).length === 0) await many.send();
    return many.endpoints();
  };
  await eventually(probed, (rows) => states(rows, 'closed') === ENDPOINTS);
  expect(await many.versions()).toBeLessThan(ENDPOINTS);
  expect(mostWaiting).toBeLessThan(AT_ONCE);
});

test('endpoints that answer 410 together become inactive in a few changes of the config', async () => {
  status = 410;
  const many = await manyEndpoints({});
  await many.send();
  await eventually(many.endpoints, every({ status: 'inactive' }));
  expect(await many.versions()).toBeLessThanOrEqual(MOST_VERSIONS);
  expect(mostWaiting).toBeLessThan(AT_ONCE);
  const entries = await app.database.query(
    "select resource_id from audit_entries where project_id = $1 and action = 'endpoint.disabled'",
    [many.projectId],
  );
  expect(new Set(entries.map((row) => row['resource_id'])).size).toBe(ENDPOINTS);
});

test('subscriptions that fail together raise and clear their alerts in a few changes of the config', async () => {
  status = 500;
  const many = await manyEndpoints(
    { circuit_breaker: { sample_rate: 3_600 } },
    { alert_config: { count: 1, threshold: '1h' } },
  );
  const raised = () =>
    app.database.query('select from alerts where project_id = $1 and cleared_at is null', [many.projectId]);
  await many.send();
  await eventually(raised, { length: ENDPOINTS });
  expect(await many.versions()).toBeLessThanOrEqual(MOST_VERSIONS);
  status = 200;
  await eventually(raised, { length: 0 });
  expect(await many.versions()).toBeLessThanOrEqual(2 * MOST_VERSIONS);
  expect(mostWaiting).toBeLessThan(AT_ONCE);
});
