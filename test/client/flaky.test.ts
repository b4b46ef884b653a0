import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BatchResult, type Event, sendAll } from '../../client/src/posthorn.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { clientOf } from './clients.ts';
import { FlakyServer } from './flaky-server.ts';

const COUNT = 1000;
let app: TestApp;
let server: FlakyServer;

beforeAll(async () => {
  app = await startTestApp();
  server = await FlakyServer.start(app.url);
});

afterAll(async () => {
  await server?.stop();
  await app?.stop();
});

describe('1,000 events through a flaky server', () => {
  const sent = new Map<number, Event>();
  const stored = new Map<number, Event[]>();

  beforeAll(async () => {
    const posthorn = clientOf(app, { url: server.url, firstDelay: 1, fetch });
    const events = Array.from({ length: COUNT }, (_, n) => ({ event_type: 'flaky', data: { n } }));
    for await (const one of sendAll(events, (event, options) => posthorn.events.broadcast(event, options))) {
      if (!one.ok) throw one.error;
      sent.set(one.index, one.result);
    }
    for await (const event of clientOf(app).events.list({ sort: 'ASC', perPage: 300 })) {
      const { n } = event.data as { n: number };
      stored.set(n, [...(stored.get(n) ?? []), event]);
    }
  });

  it('met every fault often', () => {
    expect(server.counts.size).toBe(8);
    expect(Math.min(...server.counts.values())).toBeGreaterThan(COUNT / 5);
  });

  it('are stored exactly once each', () => {
    const once = [...stored.values()].map((rows) => rows.filter((row) => !row.is_duplicate_event).length);
    expect(once).toEqual(Array.from({ length: COUNT }, () => 1));
  });

  it('are returned as they are stored, and not as the duplicates of later attempts', () => {
    const wrong = [...sent].filter(
      ([n, event]) => stored.get(n)?.find((row) => !row.is_duplicate_event)?.uid !== event.uid,
    );
    expect([sent.size, wrong]).toEqual([COUNT, []]);
    expect([...stored.values()].some((rows) => rows.length > 1)).toBe(true);
  });
});

describe('2,100 events in calls of many, of which every second answer is lost', () => {
  let lossy: FlakyServer;
  const progress: number[] = [];
  let results: BatchResult[];

  beforeAll(async () => {
    lossy = await FlakyServer.start(app.url, { isLossy: true });
    const posthorn = clientOf(app, { url: lossy.url, firstDelay: 1, fetch });
    const events = Array.from({ length: 2_100 }, (_, n) => ({
      kind: 'broadcast' as const,
      event_type: n === 1_500 ? '' : 'many',
      data: n,
      ...(n < 2 && { idempotency_key: 'own key' }),
    }));
    results = await posthorn.events.sendMany(events, { onProgress: ({ length }) => progress.push(length) });
  });

  afterAll(() => lossy?.stop());

  it('have results in their order, and a bad event refuses only itself', () => {
    expect(lossy.counts.get('dropped after')).toBe(3);
    expect(progress).toEqual([1_000, 1_000, 100]);
    expect(results).toHaveLength(2_100);
    const others = results.flatMap(({ status }, n) => (status === 'stored' ? [] : [[n, status]]));
    expect(others).toEqual([
      [0, 'duplicate'],
      [1, 'duplicate'],
      [1_500, 'refused'],
    ]);
    expect(results[1_500]?.message).toBe('events[1500].event_type: must not be empty');
  });

  it('are stored exactly once each, under the ids that are returned', async () => {
    const rows = await app.database.query(
      `select id, convert_from(payload, 'UTF8')::int as n from events
       where event_type = 'many' and not is_duplicate order by n`,
    );
    const stored = rows.map(({ id, n }) => [n, id]);
    expect(stored).toHaveLength(2_098);
    expect(new Map(stored.slice(1) as [number, string][])).toEqual(
      new Map(results.map(({ uid }, n): [number, string] => [n, uid]).filter(([n]) => n > 1 && n !== 1_500)),
    );
    expect(results[0]?.duplicate_of).toBe(stored[0]?.[1]);
  });
});

it('calls that are too large are cut, except where all or nothing is stored', async () => {
  const posthorn = clientOf(app, { fetch });
  const event = { kind: 'broadcast' as const, event_type: 'large', data: 'x'.repeat(1_000_000) };
  const sizes: number[] = [];
  const events = Array.from({ length: 7 }, () => event);
  const results = await posthorn.events.sendMany(events, { onProgress: ({ length }) => sizes.push(length) });
  expect(results.map(({ code }) => code)).toEqual(events.map(() => ''));
  expect(sizes).toEqual([4, 3]);
  await expect(posthorn.events.sendMany(events, { allOrNothing: true })).rejects.toMatchObject({
    code: 'body_too_large',
  });
  const many = Array.from({ length: 1_001 }, () => event);
  await expect(posthorn.events.sendMany(many, { allOrNothing: true })).rejects.toThrow(RangeError);
  expect(await posthorn.events.sendMany([])).toEqual([]);
});
