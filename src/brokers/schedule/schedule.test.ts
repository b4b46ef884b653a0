import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import type { ScheduleSettings } from '../../domain/config/source.ts';
import type { ConsumerContext, ReceivedMessage } from '../module/broker-module.ts';
import { schedule } from './schedule.ts';

const HOUR_MS = 3_600_000;

/** A node with a schedule. The stream is what nodes share: positions that were stored. */
function node(stream: string[], settings: Partial<ScheduleSettings> = {}) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const sent: ReceivedMessage[] = [];
  const context = {
    clock,
    signal: stop.signal,
    source: { id: 'source', projectId: 'project' },
    streams: { position: async () => stream.at(-1) ?? '' },
    connected: () => undefined,
    store: async (_part: unknown, messages: readonly ReceivedMessage[]) => {
      for (const message of messages) {
        const key = message.key ?? '';
        if (key <= (stream.at(-1) ?? '')) continue;
        stream.push(key);
        sent.push(message);
      }
      return { unreadable: new Set<number>() };
    },
  } as unknown as ConsumerContext;
  const since = new Date(clock.now()).toISOString();
  const all = { cron: '0 * * * *', time_zone: 'UTC', event_type: 'tick', data: null, since, ...settings };
  const done = schedule.consume({ type: 'schedule', schedule: all }, context);
  return { clock, sent, stop: () => (stop.abort(), done) };
}

const times = (sent: readonly ReceivedMessage[]) =>
  sent.map(({ body }) => JSON.parse(body.toString()).data.scheduled_at);

it('sends at each time, by the clock, and not before', async () => {
  const stream: string[] = [];
  const { clock, sent, stop } = node(stream);
  const noon = clock.now();
  await clock.advance(HOUR_MS - 1);
  expect(sent).toHaveLength(0);
  await clock.advance(1);
  expect(times(sent)).toEqual([new Date(noon + HOUR_MS).toISOString()]);
  await clock.advance(2 * HOUR_MS);
  expect(stream).toHaveLength(3);
  await stop();
});

it('nodes that share a stream send each time once', async () => {
  const stream: string[] = [];
  const nodes = [node(stream), node(stream), node(stream)];
  for (let hour = 0; hour < 4; hour += 1) await Promise.all(nodes.map(({ clock }) => clock.advance(HOUR_MS)));
  expect(new Set(nodes.flatMap(({ sent }) => times(sent)))).toEqual(new Set(stream));
  expect(nodes.flatMap(({ sent }) => sent)).toHaveLength(4);
  expect(stream).toHaveLength(4);
  for (const { stop } of nodes) await stop();
});

it('of times that were missed the last one is sent, once', async () => {
  const at = (ms: number) => new Date(new ManualClock().now() + ms).toISOString();
  const stream = [at(-5 * HOUR_MS)];
  const { clock, sent, stop } = node(stream, { since: at(-9 * HOUR_MS) });
  await clock.advance(0);
  // The clock begins at noon, which is a time too.
  expect(times(sent)).toEqual([at(0)]);
  await stop();
  const again = node(stream, { since: at(-9 * HOUR_MS) });
  await again.clock.advance(0);
  expect(again.sent).toHaveLength(0);
  await again.stop();
  const later = node([], { since: at(0) });
  await later.clock.advance(0);
  expect(later.sent).toHaveLength(0);
  await later.stop();
});

it('a clock that is put on catches up with the last time, and an abort ends the wait', async () => {
  const { clock, sent, stop } = node([]);
  clock.jump(3.5 * HOUR_MS);
  await clock.advance(30_000);
  expect(sent).toHaveLength(1);
  await stop();
  expect(clock.timers).toBe(0);
});

it('sends the given data and names the time in a header', async () => {
  const { clock, sent, stop } = node([], { event_type: 'report.due', data: { report: 'daily' } });
  await clock.advance(HOUR_MS);
  const at = new Date(clock.now()).toISOString();
  expect(JSON.parse(sent[0]?.body.toString() ?? '')).toEqual({
    event_type: 'report.due',
    data: { report: 'daily' },
    custom_headers: { 'X-Posthorn-Scheduled-At': at },
  });
  await stop();
});

it('says what is wrong with settings that cannot be used any more', async () => {
  const bad = (change: object) =>
    schedule.test(
      {
        type: 'schedule',
        schedule: { cron: '@daily', time_zone: 'UTC', event_type: 'x', data: null, since: '', ...change },
      },
      {} as ConsumerContext,
    );
  await expect(bad({ cron: '61 * * * *' })).rejects.toThrow('cannot be used: the minute cannot be read: 61');
  await expect(bad({ time_zone: 'Mars/Olympus' })).rejects.toThrow(
    'does not know the time zone Mars/Olympus',
  );
  await expect(bad({})).resolves.toBeUndefined();
});
