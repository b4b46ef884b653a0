import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { countStatements } from '../support/count-statements.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

test('a thousand events broadcast at once are each delivered once, every finish HOT', async () => {
  await subscribe(app.project, receiver.url, { eventTypes: ['load'] });
  const { events } = await deliverThousand();

  expect(receiver.requests.map((request) => request.json.n).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 1_000 }, (_, n) => n),
  );
  expect(new Set(events).size).toBe(1_000);

  const states = await app.database.query(
    'select status, num_trials, count(*)::int from event_deliveries group by 1, 2',
  );
  expect(states).toEqual([{ status: 'Success', num_trials: 1, count: 1_000 }]);
  const [attempts] = await app.database.query(
    'select count(*)::int, bool_and(succeeded) as good from attempts',
  );
  expect(attempts).toEqual({ count: 1_000, good: true });

  const updates = async () =>
    app.database.query(
      "select sum(n_tup_upd)::int as all, sum(n_tup_hot_upd)::int as hot from pg_stat_user_tables where relname like 'event_deliveries_%'",
    );
  const [hot] = await eventually(updates, [{ all: 1_000 }]);
  expect(hot).toEqual({ all: 1_000, hot: 1_000 });
});

test('a thousand deliveries take few round trips to the database', async () => {
  // One statement for each event and each finish would be 2,000. A batch is what arrives within a few milliseconds, so
  // on a busy machine batches are smaller: the best of six rounds counts. The benchmark holds the goal of 200.
  const rounds: number[] = [];
  while (rounds.length < 6 && !rounds.some((count) => count < 500))
    rounds.push((await deliverThousand()).roundTrips);
  expect(Math.min(...rounds)).toBeLessThan(500);
});

async function deliverThousand(): Promise<{ events: string[]; roundTrips: number }> {
  const statements = countStatements(/./);
  const received = receiver.requests.length;
  const events = await broadcastAll(Array.from({ length: 1_000 }, (_, n) => ({ n })));
  await receiver.received(received + 1_000);
  const open = () => app.database.query('select count(*)::int as count from delivery_queue');
  await eventually(open, [{ count: 0 }]);
  return { events, roundTrips: statements() };
}

/** All at once over keep-alive connections, by a client cheap enough not to be what limits; the ids of the events. */
async function broadcastAll(payloads: object[]): Promise<string[]> {
  const { base, key } = app.project;
  const { origin, pathname } = new URL(`${base}/events/broadcast`);
  const pool = new Pool(origin, { connections: 250, pipelining: 1 });
  const ids = await Promise.all(
    payloads.map(async (data) => {
      const { statusCode, body } = await pool.request({
        path: pathname,
        method: 'POST',
        headers: { authorization: key, 'content-type': 'application/json' },
        body: JSON.stringify({ event_type: 'load', data }),
      });
      const text = await body.text();
      expect(statusCode).toBe(201);
      return text.slice(text.indexOf('"uid":"') + 7).slice(0, 26);
    }),
  );
  await pool.close();
  return ids;
}
