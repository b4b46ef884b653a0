import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { GaugeReader } from '../../src/start/gauge-reader.ts';
import { Database } from '../../src/store/database/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { listenTcp } from '../support/servers/loopback-server.ts';

test('a database that does not answer is reported without waiting for it', async () => {
  // It takes connections and never says a word.
  const silent = await listenTcp(() => {});
  onTestFinished(() => silent.close());
  const connection = { host: '127.0.0.1', port: silent.port, user: 'unknown', database: 'nothing' };
  const db = new Database({ connection, connections: 4, log: quietLog });
  const { metrics, registry } = createMetrics();
  const engine = { usage: () => ({ size: 2000, used: 3, waiting: 2, sending: 1 }) };
  const states = { connecting: 0, running: 0, waiting: 0 };
  const brokers = { usage: () => ({ states, lag: new Map() }) };
  const ids = { aheadMs: 0 };
  const databaseClock = { aheadMs: 2_500 };
  const gauges = new GaugeReader({ db, engine, brokers, ids, databaseClock, metrics, log: quietLog });
  await Promise.all([gauges.read(), gauges.read()]);
  // However many ask, one connection asks the database.
  expect(silent.sockets.size).toBe(1);
  const page = await registry.metrics();
  expect(page).toContain('posthorn_database_up 0\n');
  expect(page).toMatch(/posthorn_queue_waiting\{lane="first"\} NaN/i);
  expect(page).toMatch(/posthorn_circuit_breakers_open NaN/i);
  expect(page).toMatch(/posthorn_ordering_keys_held NaN/i);
  // Values of the node itself are still there.
  expect(page).toContain('posthorn_window_used 3\n');
  expect(page).toContain('posthorn_id_clock_ahead_seconds -2.5\n');
  expect(page).toContain('posthorn_deliveries_held{state="sending"} 1\n');
  for (const socket of silent.sockets) socket.destroy();
  await db.close();
});
