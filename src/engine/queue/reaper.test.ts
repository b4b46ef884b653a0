import { expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { Loop } from '../../platform/loop.ts';
import type { SilentNode } from '../../store/queue/nodes.ts';
import { Reaper } from './reaper.ts';

/** A queue of so many ranges of pages, each read in `rangeMs`. What the reaper does is noted in order. */
function reaping({ ranges = 1, rangeMs = 0 } = {}) {
  const clock = new ManualClock();
  const done: string[] = [];
  const state = { silent: [] as SilentNode[], freed: 0, connectedMs: 10_000, lostAt: -1, isOthers: false };
  const reaper = new Reaper({
    table: {
      silent: () => state.silent,
      asReaper: async (work) => (state.isOthers ? null : work()),
      freeInPages: async (page) => {
        done.push(`free ${page}`);
        if (rangeMs > 0) await clock.sleep(rangeMs);
        state.connectedMs -= state.lostAt === page ? 10_000 : 0;
        return { freed: state.freed, nextPage: page + 1 < ranges ? page + 1 : 0 };
      },
      forget: async (ids) => void done.push(`forget ${ids.join(' ')}`),
      freeStrayLeases: async () => void done.push('free stray leases'),
    },
    connectedMs: () => state.connectedMs,
    claimer: { sweep: async () => void done.push('sweep') },
    clock,
    metrics: createMetrics().metrics,
    log: quietLog,
  });
  reaper.start();
  new Loop({ turn: () => reaper.wake(), onError: () => {}, everyMs: 2_000, clock }).start();
  /** The actions since the last call. */
  const sinceThen = () => done.splice(0);
  return { clock, state, reaper, sinceThen };
}

const silent = (id: string, isForgettable = false): SilentNode => ({ id, isForgettable });

test('nothing is freed until this node has been connected for 10 s, nor after the stop', async () => {
  const { clock, state, reaper, sinceThen } = reaping();
  state.silent = [silent('a')];
  state.connectedMs = 9_999;
  await clock.advance(2_000);
  expect(sinceThen()).toEqual([]);
  state.connectedMs = 10_000;
  await clock.advance(2_000);
  expect(sinceThen()).toEqual(['free 0']);
  await reaper.stop();
  await clock.advance(10_000);
  expect(sinceThen()).toEqual([]);
});

test('the rows of a silent node are freed on all pages, each 2 s while it is remembered', async () => {
  const { clock, state, sinceThen } = reaping({ ranges: 3 });
  state.silent = [silent('a'), silent('b')];
  await clock.advance(4_000);
  expect(sinceThen()).toEqual(['free 0', 'free 1', 'free 2', 'free 0', 'free 1', 'free 2']);
  state.silent = [silent('a', true), silent('b')];
  await clock.advance(2_000);
  expect(sinceThen()).toEqual(['free 0', 'free 1', 'free 2', 'forget a']);
});

test('a long walk is followed by a rest, which another silent node ends', async () => {
  const { clock, state, sinceThen } = reaping({ ranges: 4, rangeMs: 1_000 });
  state.silent = [silent('a')];
  await clock.advance(6_000);
  expect(sinceThen()).toHaveLength(4);
  await clock.advance(15_000);
  expect(sinceThen()).toEqual([]);
  await clock.advance(5_000);
  expect(sinceThen()).toHaveLength(4);
  state.silent = [silent('a'), silent('b')];
  await clock.advance(6_000);
  expect(sinceThen()).toHaveLength(4);
});

test('a walk ends when the connection breaks, forgets no node, and begins again', async () => {
  const { clock, state, sinceThen } = reaping({ ranges: 3 });
  state.silent = [silent('a', true)];
  state.lostAt = 1;
  await clock.advance(4_000);
  expect(sinceThen()).toEqual(['free 0', 'free 1']);
  state.lostAt = -1;
  state.connectedMs = 10_000;
  await clock.advance(2_000);
  expect(sinceThen()).toEqual(['free 0', 'free 1', 'free 2', 'forget a']);
});

test('rows of unknown nodes are looked for once a minute, on some pages at a time', async () => {
  const { clock, sinceThen } = reaping({ ranges: 10 });
  await clock.advance(2_000);
  expect(sinceThen()).toEqual([...Array.from({ length: 8 }, (_, n) => `free ${n}`), 'free stray leases']);
  await clock.advance(60_000);
  expect(sinceThen()).toEqual([]);
  await clock.advance(2_000);
  expect(sinceThen()).toEqual(['free 8', 'free 9', 'free stray leases']);
  await clock.advance(62_000);
  expect(sinceThen()[0]).toBe('free 0');
});

test('freed rows are swept up', async () => {
  const { clock, state, sinceThen } = reaping();
  state.freed = 3;
  state.silent = [silent('a')];
  await clock.advance(2_000);
  expect(sinceThen()).toEqual(['free 0', 'sweep']);
});

test('one node reaps at a time', async () => {
  const { clock, state, sinceThen } = reaping();
  state.isOthers = true;
  state.silent = [silent('a')];
  await clock.advance(6_000);
  expect(sinceThen()).toEqual([]);
});
