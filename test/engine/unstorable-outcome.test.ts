import { expect, test } from 'vitest';
import type { LeasedDelivery } from '../../src/domain/delivery.ts';
import { IdFactory } from '../../src/domain/ids.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import { Finisher } from '../../src/engine/queue/finisher.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import type { Attempt } from '../../src/store/attempts/attempt.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { lastAttempts } from '../../src/store/attempts/read-attempts.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import type { Finish } from '../../src/store/queue/finish.ts';
import { finishRows } from '../../src/store/queue/finish-rows.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { listenTcp } from '../support/servers/loopback-server.ts';
import { shared } from '../support/shared.ts';

const NODE = '00000000000000000000000001';

type Poison = Partial<Attempt & Pick<Finish, 'description'>>;

/** Outcomes that the database cannot hold as they are: a text with a zero byte is one to it. */
// Stores deliveries for others; the tests play those others or add one.
const app = await shared(startTestApp({ POSTHORN_ROLES: 'api' }));
const ids = new IdFactory(Date.now);

// A node that beats keeps its rows, however slow the test is.
await app.database.query(
  `insert into nodes (id, roles, knows, seal_keys, beat_at)
   select $1, '', knows, seal_keys, now() + interval '1 hour' from nodes`,
  [NODE],
);

async function leased(eventType: string, count: number): Promise<LeasedDelivery[]> {
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/', { eventTypes: [eventType] });
  for (let n = 0; n < count; n++)
    await app.project.post('/events/broadcast', { event_type: eventType, data: { n } });
  const [claim] = await claimDeliveries(app.app.db, {
    nodeId: NODE,
    wants: [{ key: endpoint.uid, lane: 0, count }],
    free: 1_000,
  });
  return claim?.deliveries ?? [];
}

function succeeded(delivery: LeasedDelivery, { description = null, ...attempt }: Poison = {}): Finish {
  return {
    ...back(delivery, description),
    status: 'Success',
    delayMs: null,
    numTrials: 1,
    latencyMs: 1,
    attempt: {
      id: ids.next(),
      url: 'http://127.0.0.1:9/',
      ipAddress: null,
      httpStatus: '200 OK',
      outcome: 'http_200',
      error: null,
      succeeded: true,
      requestHeaders: {},
      responseHeaders: {},
      responseBody: Buffer.from('fine'),
      timings: { totalMs: 1 },
      requestedAtMs: Date.now(),
      ...attempt,
    },
  };
}

test('only the unstorable attempts of a batch are replaced, and every delivery is finished', async () => {
  const deliveries = await leased('batch', 20);
  const poison = new Map<number, Poison>([
    [3, { description: 'zero\0byte' }],
    // A record takes any text.
    [4, { url: 'http://zero\0byte/', responseHeaders: { zero: ['\0'] } }],
    [11, { outcome: 'zero\0byte' }],
  ]);
  const finisher = new Finisher({
    store: async (batch) =>
      (await finishRows(app.app.db, { nodeId: NODE, templates: new AttemptTemplates() }, batch)).moved,
    clock: systemClock,
    metrics: createMetrics().metrics,
    log: quietLog,
  });
  const moved = await Promise.all(
    deliveries.map((delivery, n) => finisher.finish(succeeded(delivery, poison.get(n)))),
  );
  expect(moved).toEqual(Array(20).fill(true));
  const rows = await app.database.query(
    "select status, num_trials, description from event_deliveries where event_type = 'batch' order by id",
  );
  const recorded = await lastAttempts(
    app.app.db,
    app.projectId,
    deliveries.map(({ id }) => id),
  );
  const reason = 'The result of this attempt could not be stored.';
  const refused = (n: number) => n === 3 || n === 11;
  expect(rows).toEqual(
    deliveries.map((_, n) => ({ status: 'Success', num_trials: 1, description: refused(n) ? reason : null })),
  );
  // Nothing of one can be stored.
  expect(recorded.map(({ deliveryId }) => deliveryId)).toEqual(
    deliveries.filter((_, n) => n !== 11).map(({ id }) => id),
  );
  expect(recorded[3]).toMatchObject({ error: reason, httpStatus: '200 OK', responseBody: null });
  expect(recorded[4]).toMatchObject({
    url: 'http://zero\0byte/',
    responseHeaders: { zero: ['\0'] },
    error: null,
  });
  expect(recorded[5]).toMatchObject({ error: null, responseBody: Buffer.from('fine') });
  expect(await app.database.query('select * from delivery_queue')).toEqual([]);
});

test('hostile answers and functions leave no delivery stuck', async () => {
  const answers: Record<string, string> = {
    bytes: 'HTTP/1.1 200 \xff\xfe\r\nX-Odd: \xc3\x28\xff\r\nContent-Length: 4\r\n\r\n\0\xff\0\xfe',
    'zero-header': 'HTTP/1.1 200 OK\r\nX-Zero: a\0b\r\nContent-Length: 0\r\n\r\n',
    'zero-reason': 'HTTP/1.1 500 a\0b\r\nContent-Length: 0\r\n\r\n',
    surrogate: 'HTTP/1.1 500 \xed\xa0\x80\r\nContent-Length: 3\r\n\r\n\xed\xa0\x80',
  };
  const server = await listenTcp((socket) => {
    socket.once('data', (head) => {
      const [, name = ''] = /^POST \/(\S+)/.exec(head.toString()) ?? [];
      socket.end(Buffer.from(answers[name] ?? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 'latin1'));
    });
    socket.on('error', () => undefined);
  });
  const functions: Record<string, string> = {
    'throws-zero': String.raw`function transform() { throw new Error('zero\u0000byte \ud800'); }`,
    'returns-zero': String.raw`function transform() { return { 'a\u0000b': '\u0000\ud800' }; }`,
  };
  const once = { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 0 } };
  for (const name of Object.keys(answers))
    await subscribe(app.project, `http://127.0.0.1:${server.port}/${name}`, {
      eventTypes: ['hostile'],
      subscription: once,
    });
  for (const [name, code] of Object.entries(functions))
    await subscribe(app.project, `http://127.0.0.1:${server.port}/${name}`, {
      eventTypes: ['hostile'],
      subscription: { ...once, function: code },
    });
  await app.project.post('/events/broadcast', { event_type: 'hostile', data: {} });
  await app.addNode({ POSTHORN_ROLES: 'deliver' });
  const all = await eventually(
    async () => (await app.project.get('/eventdeliveries?perPage=100')).content as Json[],
    (found) =>
      found
        .filter(({ event_type }) => event_type === 'hostile')
        .every(({ status }) => status === 'Success' || status === 'Failure'),
  );
  const hostile = all.filter(({ event_type }) => event_type === 'hostile');
  const states = Object.fromEntries(
    hostile.map(({ target_url, status }) => [new URL(target_url).pathname.slice(1), status]),
  );
  expect(states).toEqual({
    bytes: 'Success',
    'zero-header': 'Failure',
    'zero-reason': 'Failure',
    surrogate: 'Failure',
    'throws-zero': 'Failure',
    'returns-zero': 'Success',
  });
  for (const { uid } of hostile) await app.project.get(`/eventdeliveries/${uid}/deliveryattempts`);
  expect(await app.database.query('select * from delivery_queue')).toEqual([]);
  await server.close();
});
