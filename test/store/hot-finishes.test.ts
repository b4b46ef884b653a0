import { expect, onTestFinished, test } from 'vitest';
import { IdFactory } from '../../src/domain/ids.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import type { Attempt } from '../../src/store/attempts/attempt.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import type { Finish } from '../../src/store/queue/finish.ts';

import { finishDeliveries, KEPT_BYTES } from '../../src/store/queue/finish-deliveries.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';

const NODE = '00000000000000000000000001';
const DELIVERIES = 400;
const DESCRIPTION = 'The endpoint answered 404 Not Found.';
const ids = new IdFactory(Date.now);
/** With the description as much as is kept with a delivery. */
const attempt: Omit<Attempt, 'id'> = {
  url: 'http://127.0.0.1:9/',
  ipAddress: null,
  httpStatus: '404 Not Found',
  outcome: 'http_404',
  error: null,
  succeeded: false,
  requestHeaders: {},
  responseHeaders: {},
  responseBody: Buffer.alloc(KEPT_BYTES - DESCRIPTION.length - '[[1],null]'.length),
  timings: { totalMs: 1 },
  requestedAtMs: Date.now(),
};

test('a batch that finishes every delivery of its pages touches no index', async () => {
  // Without the deliver role everything waits in the queue; the test plays the node that delivers.
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/', { eventTypes: ['paid'] });
  await Promise.all(
    Array.from({ length: DELIVERIES }, () =>
      app.project.post('/events/broadcast', { event_type: 'paid', data: {} }),
    ),
  );
  const { db } = app.app;
  const [claim] = await claimDeliveries(db, {
    nodeId: NODE,
    wants: [{ key: endpoint.uid, lane: 0, count: DELIVERIES }],
    free: 1_000,
  });
  const finishes = claim!.deliveries.map(
    (delivery): Finish => ({
      ...back(delivery, DESCRIPTION),
      status: 'Failure',
      delayMs: null,
      numTrials: 1,
      latencyMs: 12.5,
      attempt: { ...attempt, id: ids.next() },
    }),
  );
  expect(
    (await finishDeliveries(db, { nodeId: NODE, templates: new AttemptTemplates() }, finishes)).moved.size,
  ).toBe(DELIVERIES);

  const [updates] = await eventually(
    () =>
      app.database.query(
        "select sum(n_tup_upd)::int as all, sum(n_tup_hot_upd)::int as hot from pg_stat_user_tables where relname like 'event_deliveries_%'",
      ),
    [{ all: DELIVERIES }],
  );
  expect(updates).toEqual({ all: DELIVERIES, hot: DELIVERIES });
  // The first have no template yet, so they have rows of their own.
  const [kept] = await app.database.query(
    'select count(attempt_id)::int as kept, (select count(*)::int from attempts) as all from event_deliveries',
  );
  expect(kept).toEqual({ kept: DELIVERIES - 3, all: DELIVERIES });
});
