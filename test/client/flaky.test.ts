import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Event, sendAll } from '../../client/src/posthorn.ts';
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
