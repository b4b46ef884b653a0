import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** The concurrency of an endpoint is the number of its unanswered requests. */
const START = 32;
const app = await shared(startTestApp());

async function endpointWith(deliveries: number, timeoutSeconds = 60) {
  const receiver = await Receiver.start();
  // Without a breaker, only the cap limits deliveries.
  const client = await app.newProject({ circuit_breaker: { minimum_request_count: 1_000_000 } });
  const open: ServerResponse[] = [];
  receiver.answerAlways((_request, response) => {
    open.push(response);
    // Cut off by the sender, it is no longer under way.
    response.on('close', () => open.includes(response) && open.splice(open.indexOf(response), 1));
  });
  await subscribe(client, receiver.url, {
    endpoint: { http_timeout: timeoutSeconds },
    subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1_000 } },
  });
  await Promise.all(
    Array.from({ length: deliveries }, (_, n) =>
      client.post('/events/broadcast', { event_type: 'a', data: { n } }),
    ),
  );
  return { receiver, open };
}

const answerAll = (open: ServerResponse[], status: number) => {
  for (const response of open.splice(0)) response.writeHead(status).end();
};

const underWay = (open: ServerResponse[], enough: (count: number) => boolean) =>
  eventually(async () => open.length, enough);

test('an endpoint that answers well gets more requests at a time', async () => {
  const { receiver, open } = await endpointWith(200);
  await underWay(open, (count) => count >= START);
  expect(open.length).toBe(START);
  answerAll(open, 200);
  // Each of the 32 successes allowed one more.
  await underWay(open, (count) => count >= 2 * START);
  expect(open.length).toBe(2 * START);
  receiver.answerAlways(200);
  answerAll(open, 200);
  await receiver.received(200);
  await receiver.stop();
});

const strain = {
  'answers 429': (open: ServerResponse[]) => answerAll(open, 429),
  'answers 503': (open: ServerResponse[]) => answerAll(open, 503),
  'times out': () => undefined,
};
const TIMEOUT_SECONDS = 1;

test.each(Object.entries(strain))('an endpoint that %s gets fewer at a time', async (kind, answer) => {
  const { receiver, open } = await endpointWith(100, kind === 'times out' ? TIMEOUT_SECONDS : undefined);
  await receiver.received(1);
  let most = 0;
  // Strain halves the cap twice a second at most.
  for (let rounds = 0; rounds < 60 && most !== 1; rounds++) {
    const before = receiver.requests.length;
    answer(open);
    await eventually(async () => receiver.requests.length, atLeast(before + 1));
    await new Promise((resolve) => setTimeout(resolve, 550));
    most = open.length;
  }
  // A hundred are due, and still only one is sent at a time.
  expect(most).toBe(1);
  receiver.answerAlways(200);
  answerAll(open, 200);
  await eventually(async () => new Set(receiver.requests.map(({ json }) => json.n)).size, 100);
  await receiver.stop();
});

test('an endpoint that answers with errors but without strain is not slowed down', async () => {
  const { receiver, open } = await endpointWith(100);
  await underWay(open, (count) => count === START);
  answerAll(open, 400);
  await underWay(open, (count) => count === START);
  answerAll(open, 404);
  await underWay(open, (count) => count === START);
  await receiver.stop();
});
