import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const POSTS = 4_000;
const IN_FLIGHT = 500;
const KEYS = 100;

test('4,000 posts with 100 keys, 500 in flight over two nodes, give 100 deliveries and no deadlock', async () => {
  const node = await app.addNode();
  const source = await httpSource(app.project, { idempotency_keys: ['request.body.id'] });
  await subscribe(app.project, `${receiver.url}/once`, { subscription: { source_id: source.uid } });
  const messages = await postAll([app.url, node.url], source);
  expect(messages).toEqual(
    new Map([
      ['200 Event received', KEYS],
      ['200 Duplicate event received; it is not sent again', POSTS - KEYS],
    ]),
  );
  const requests = await receiver.received(KEYS);
  await eventually(
    () => app.database.query('select count(*)::int as open from delivery_queue'),
    (rows) => rows[0]?.['open'] === 0,
  );
  expect(new Set(requests.map((request) => request.json.id)).size).toBe(KEYS);
  expect(receiver.requests.length).toBe(KEYS);
  const [stored] = await app.database.query(
    'select count(*)::int as events, (count(*) filter (where is_duplicate))::int as duplicates from events',
  );
  expect(stored).toEqual({ events: POSTS, duplicates: POSTS - KEYS });
  const [{ deadlocks } = {}] = await app.database.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  expect(deadlocks).toBe(0);
});

/** How often each answer was given. */
async function postAll(urls: string[], source: Json): Promise<Map<string, number>> {
  const answers = new Map<string, number>();
  const pools = urls.map((url) => new Pool(url, { connections: IN_FLIGHT / urls.length, pipelining: 1 }));
  let next = 0;
  const work = async (pool: Pool) => {
    while (next < POSTS) {
      const body = JSON.stringify({ id: next++ % KEYS });
      const headers = { 'content-type': 'application/json' };
      const path = `/ingest/${source.mask_id}`;
      const answer = await pool.request({ path, method: 'POST', headers, body });
      const { message } = (await answer.body.json()) as Json;
      const seen = `${answer.statusCode} ${message}`;
      answers.set(seen, (answers.get(seen) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, n) => work(pools[n % pools.length] as Pool)));
  await Promise.all(pools.map((pool) => pool.destroy()));
  return answers;
}
