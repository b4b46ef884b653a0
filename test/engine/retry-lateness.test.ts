import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { Receiver } from '../support/receiver.ts';

let app: TestApp;
let receiver: Receiver;

beforeAll(async () => {
  app = await startTestApp();
  receiver = await Receiver.start();
});

afterAll(async () => {
  await app?.stop();
  await receiver?.stop();
});

test('no retry waits for the sweep of the queue: each is claimed when it is due', async () => {
  const seen = new Set<number>();
  receiver.answerAlways(({ json }, response) => {
    response.writeHead(seen.has(json.n) ? 200 : 500).end();
    seen.add(json.n);
  });
  await subscribe(app.project, receiver.url, {
    subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 } },
  });
  // A few milliseconds apart, so that every round of claims falls close to another retry's due time.
  for (let n = 0; n < 300; n++) await app.project.post('/events/broadcast', { event_type: 'x', data: { n } });
  await receiver.received(600);
  const late = receiver.requests.slice(0).filter((request, at, all) => {
    const first = all.findIndex((other) => other.json.n === request.json.n);
    return first !== at && request.at - (all[first]?.at ?? 0) - 1_000 > 2_500;
  });
  // The sweep comes every five seconds; half of that is far beyond what a claim takes on any machine.
  expect(late.length).toBe(0);
});
