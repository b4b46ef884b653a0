import { expect, test } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

/** From now on sweeps find nothing: what only they would find is never sent. */
function blindSweeps(db: Database): void {
  const hot = db.hot.bind(db);
  db.hot = (name, text, values) => (name === 'waiting-keys' ? Promise.resolve([]) : hot(name, text, values));
}

test('no retry waits for the sweep of the queue: each is claimed when it is due', async () => {
  const seen = new Set<number>();
  receiver.answerAlways(({ json }, response) => {
    response.writeHead(seen.has(json.n) ? 200 : 500).end();
    seen.add(json.n);
  });
  await subscribe(app.project, receiver.url, {
    subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 } },
  });
  blindSweeps(app.app.db);
  // A few milliseconds apart, so that every round of claims falls close to another retry's due time.
  for (let n = 0; n < 300; n++) await app.project.post('/events/broadcast', { event_type: 'x', data: { n } });
  await receiver.received(600);
  const times = Map.groupBy(receiver.requests, ({ json }) => json.n as number);
  expect([...times.values()].filter((same) => same.length !== 2)).toEqual([]);
});
