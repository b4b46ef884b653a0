import { expect, onTestFinished, test } from 'vitest';
import type { LeasedDelivery } from '../../src/domain/delivery.ts';
import { handedBack } from '../../src/engine/attempt/sent.ts';
import { claimDeliveries } from '../../src/store/queue/claim-deliveries.ts';
import { type Finish, finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';

const NODE = '00000000000000000000000001';
const DELIVERIES = 400;

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
  const [claim] = await claimDeliveries(db, NODE, [{ key: endpoint.uid, lane: 0, count: DELIVERIES }]);
  const finishes = claim!.deliveries.map(
    (delivery): Finish<LeasedDelivery> => ({
      ...handedBack(delivery, 'The endpoint answered 404 Not Found.'),
      status: 'Failure',
      delayMs: null,
      numTrials: 1,
      latencyMs: 12.5,
    }),
  );
  expect((await finishDeliveries(db, NODE, finishes)).size).toBe(DELIVERIES);

  const [updates] = await eventually(
    () =>
      app.database.query(
        "select sum(n_tup_upd)::int as all, sum(n_tup_hot_upd)::int as hot from pg_stat_user_tables where relname like 'event_deliveries_%'",
      ),
    ([row]) => row?.['all'] === DELIVERIES,
  );
  expect(updates).toEqual({ all: DELIVERIES, hot: DELIVERIES });
});
