import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { asId, type EndpointId } from '../../../src/domain/ids.ts';
import { claimDeliveries } from '../../../src/store/queue/claim.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** A place of the window has room for 64 kB: events of 300 kB take five each. */
const BYTES = 300_000;
const PLACES = 5;
const WINDOW = 40;
const NODE = '00000000000000000000000001';

const large = (n: number) => ({ event_type: 'large', data: { n, text: 'x'.repeat(BYTES) } });
const small = (n: number) => ({ event_type: 'small', data: { n } });

test('large events take no more memory of a node than its window has places for, and all arrive', async () => {
  const app = await startTestApp({ POSTHORN_WINDOW: String(WINDOW) });
  const receiver = await Receiver.start();
  const open: ServerResponse[] = [];
  receiver.answerAlways((_request, response) => void open.push(response));
  // A busy machine lets no request time out.
  await subscribe(app.project, receiver.url, { endpoint: { http_timeout: 60 } });
  const count = 30;
  for (let n = 0; n < count; n++) await app.project.post('/events/broadcast', large(n));
  // Half of the window is for one endpoint.
  const most = WINDOW / 2 / PLACES;
  await eventually(async () => open.length, most);
  let highest = 0;
  for (let answered = 0; answered < count; answered += 1) {
    await eventually(async () => open.length, atLeast(1));
    highest = Math.max(highest, open.length);
    open.shift()?.writeHead(200).end();
  }
  expect(highest).toBe(most);
  await receiver.received(count);
  const numbers = receiver.requests.map(({ body }) => JSON.parse(body.toString()).n as number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
  await receiver.stop();
  await app.stop();
});

const api = await shared(startTestApp({ POSTHORN_ROLES: 'api' }));

async function waiting(...events: object[]): Promise<EndpointId> {
  const client = await api.newProject();
  const { endpoint } = await subscribe(client, 'http://127.0.0.1:9/');
  for (const event of events) await client.post('/events/broadcast', event);
  return asId<EndpointId>(endpoint.uid);
}

type Wish = [key: EndpointId, count: number, places?: number];

/** How many rows each want got, and whether it was cut. */
async function claimed(wishes: Wish[], free = 1_000) {
  const wants = wishes.map(([key, count, places = count]) => ({ key, lane: 0, count, places }));
  const claims = await claimDeliveries(api.app.db, { nodeId: NODE, wants, free });
  return claims.map(({ deliveries, isCut }) => [deliveries.length, isCut]);
}

test('a claim takes rows until its places are full, and the next one goes on', async () => {
  const key = await waiting(...[0, 1, 2, 3].map(large), small(4));
  expect(await claimed([[key, 2 * PLACES]])).toEqual([[2, true]]);
  expect(await claimed([[key, 2 * PLACES + 1]])).toEqual([[3, false]]);
  expect(await claimed([[key, 10]])).toEqual([[0, false]]);
});

test('a claim of few rows takes them however large they are, if it has the places', async () => {
  const key = await waiting(...[0, 1, 2, 3].map(large));
  expect(await claimed([[key, 3, 100]])).toEqual([[3, false]]);
});

test('a row larger than the places is claimed alone', async () => {
  const key = await waiting(large(0), large(1));
  expect(await claimed([[key, 2]])).toEqual([[1, true]]);
});

test('a claim says that others hold due rows, which they may give back', async () => {
  const key = await waiting(small(0), small(1), small(2));
  const missed = async (count: number) => {
    const [claim] = await claimDeliveries(api.app.db, {
      nodeId: NODE,
      wants: [{ key, lane: 0, count }],
      free: 1,
    });
    return [claim?.deliveries.length, claim?.isMissed];
  };
  await api.app.db.transaction(async (tx) => {
    await tx.query('select from delivery_queue where key = $1 for update', [key]);
    expect(await missed(1)).toEqual([0, true]);
  });
  // More are due than were asked for.
  expect(await missed(1)).toEqual([1, false]);
  await api.app.db.transaction(async (tx) => {
    await tx.query('select from delivery_queue where key = $1 and node_id is null limit 1 for update', [key]);
    expect(await missed(10)).toEqual([1, true]);
  });
  expect(await missed(10)).toEqual([1, false]);
  expect(await missed(10)).toEqual([0, false]);
});

test('wants of a round share the free places of the window, and those that are due longest come first', async () => {
  const [older, younger] = [await waiting(large(0)), await waiting(large(0))];
  const wishes: Wish[] = [
    [younger, 1],
    [older, 1],
  ];
  expect(await claimed(wishes, PLACES)).toEqual([
    [0, true],
    [1, false],
  ]);
  expect(await claimed(wishes, PLACES)).toEqual([
    [1, false],
    [0, false],
  ]);
});

test('wants that have their places do not take those of each other', async () => {
  const [first, second] = [await waiting(...[0, 1, 2].map(large)), await waiting(...[0, 1, 2].map(small))];
  const wishes: Wish[] = [
    [first, PLACES],
    [second, PLACES],
  ];
  expect(await claimed(wishes, 2 * PLACES)).toEqual([
    [1, true],
    [3, false],
  ]);
});
