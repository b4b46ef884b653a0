import { describe, expect, test } from 'vitest';
import { leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { ManualClock, settle } from '../../../test/support/samples/manual-clock.ts';
import { createLogger } from '../../platform/logger.ts';
import { OffsetClock } from '../../platform/time/offset-clock.ts';
import { Heartbeat } from './heartbeat.ts';
import { Lease } from './lease.ts';

/** A node whose database answers, fails or hangs as asked. What the heartbeat does is noted in order. */
function beatingNode() {
  const clock = new ManualClock();
  const databaseClock = new OffsetClock(clock);
  const lease = new Lease(clock);
  const done: string[] = [];
  const note = (what: string) => () => void done.push(what);
  const published: string[] = [];
  const said: string[] = [];
  const database = { isAway: false, aheadMs: 0, hang: undefined as Promise<void> | undefined };
  const leased = leasedDelivery();
  const heartbeat = new Heartbeat({
    beat: async (inFlightFrom) => {
      done.push('beat');
      published.push(inFlightFrom);
      await database.hang;
      if (database.isAway) throw new Error('away');
      return NOON + clock.uptime() + database.aheadMs;
    },
    inFlight: { oldest: () => String(databaseClock.now() - NOON) },
    clock,
    databaseClock,
    lease,
    dispatcher: {
      forgetUnsent: () => {
        done.push('forget unsent');
        return [leased];
      },
      resume: note('resume'),
    },
    claimer: { unsure: (rows) => void done.push(`unsure of ${rows.length}`) },
    rateLeases: { suspend: note('suspend') },
    log: createLogger('warn', { write: (line) => void said.push(line) }),
  });
  /** The actions since the last call. */
  const sinceThen = () => done.splice(0);
  return { clock, databaseClock, lease, heartbeat, database, published, said, sinceThen };
}

async function startedNode() {
  const node = beatingNode();
  await node.heartbeat.start();
  node.sinceThen();
  node.said.splice(0);
  return node;
}

test('the start beats, makes the lease fresh and lets sends go on', async () => {
  const { heartbeat, lease, sinceThen } = beatingNode();
  expect(lease.isFresh()).toBe(false);
  await heartbeat.start();
  expect(lease.isFresh()).toBe(true);
  expect(sinceThen()).toEqual(['beat', 'suspend', 'resume', 'beat', 'resume']);
});

test('a start without a confirmed beat fails, and no other beat follows', async () => {
  const { heartbeat, clock, database } = beatingNode();
  database.isAway = true;
  await expect(heartbeat.start()).rejects.toThrow('away');
  expect(clock.timers).toBe(0);
});

test('a beat is sent each 2 s, and none after the stop', async () => {
  const { clock, heartbeat, lease, sinceThen } = await startedNode();
  await clock.advance(1_999);
  expect(sinceThen()).toEqual([]);
  await clock.advance(4_001);
  expect(sinceThen()).toEqual(['beat', 'resume', 'beat', 'resume', 'beat', 'resume']);
  expect(lease.isFresh()).toBe(true);
  await heartbeat.stop();
  await clock.advance(10_000);
  expect(sinceThen()).toEqual([]);
});

test('each beat measures the clock of the database', async () => {
  const { clock, database, databaseClock } = await startedNode();
  expect(databaseClock.now()).toBe(NOON);
  database.aheadMs = 500;
  await clock.advance(2_000);
  expect(databaseClock.now()).toBe(NOON + 2_500);
});

test('each beat says which ids were held when the last one had measured the clock', async () => {
  const { clock, database, published } = await startedNode();
  expect(published).toEqual(['', '0']);
  database.aheadMs = 500;
  await clock.advance(4_000);
  expect(published).toEqual(['', '0', '0', '2500']);
});

test('the lease counts from when the beat was sent, not from its answer', async () => {
  const { clock, lease, database } = await startedNode();
  let answer = () => {};
  database.hang = new Promise((resolve) => {
    answer = resolve;
  });
  await clock.advance(2_000);
  await clock.advance(5_000);
  answer();
  await settle();
  database.isAway = true;
  await clock.advance(2_999);
  expect(lease.isFresh()).toBe(true);
  await clock.advance(1);
  expect(lease.isFresh()).toBe(false);
});

describe('a node whose beats fail', () => {
  test('keeps its rate leases where the beat is confirmed before the lease ends', async () => {
    const { clock, database, sinceThen } = await startedNode();
    database.isAway = true;
    await clock.advance(4_000);
    database.isAway = false;
    sinceThen();
    await clock.advance(2_000);
    expect(sinceThen()).toEqual(['beat', 'resume']);
  });

  test('gives up its rate leases and keeps its unsent deliveries after a silence of 8 to 10 s', async () => {
    const { clock, database, sinceThen } = await startedNode();
    database.isAway = true;
    await clock.advance(8_000);
    database.isAway = false;
    sinceThen();
    await clock.advance(2_000);
    expect(sinceThen()).toEqual(['beat', 'suspend', 'resume']);
  });

  test('gives its unsent deliveries back after a longer silence, before it sends again', async () => {
    const { clock, lease, database, sinceThen } = await startedNode();
    database.isAway = true;
    await clock.advance(10_000);
    expect(lease.isFresh()).toBe(false);
    database.isAway = false;
    sinceThen();
    await clock.advance(2_000);
    expect(sinceThen()).toEqual(['beat', 'forget unsent', 'unsure of 1', 'suspend', 'resume']);
  });

  test('gives them back too where the beat was sent in time and reached the database late', async () => {
    const { clock, database, sinceThen } = await startedNode();
    database.isAway = true;
    await clock.advance(8_000);
    database.isAway = false;
    const late = Promise.withResolvers<void>();
    database.hang = late.promise;
    await clock.advance(2_000);
    await clock.advance(1);
    sinceThen();
    late.resolve();
    await settle();
    expect(sinceThen()).toEqual(['forget unsent', 'unsure of 1', 'suspend', 'resume']);
  });

  test('counts a sleep of the machine as silence, though the monotonic clock stood still', async () => {
    const { clock, sinceThen } = await startedNode();
    clock.doze(60_000);
    await clock.advance(2_000);
    expect(sinceThen()).toContain('forget unsent');
  });
});

describe('clocks that are set', () => {
  test.each([3_600_000, -3_600_000, 1_500, -1_500])(
    'a node whose clock is set by %d ms sends nothing before the next beat, and its time is right',
    async (ms) => {
      const { clock, databaseClock, lease, said } = await startedNode();
      clock.jump(ms);
      expect([lease.isFresh(), databaseClock.isSure()]).toEqual([false, false]);
      await clock.advance(2_000);
      expect([lease.isFresh(), databaseClock.isSure()]).toEqual([true, true]);
      expect(databaseClock.now()).toBe(NOON + 2_000);
      expect(said[0]).toContain('the clock of this node was set or the machine slept');
    },
  );

  test('a caller that wants the time after a sleep gets it with the next beat, which comes at once', async () => {
    const { clock, databaseClock, lease, sinceThen } = await startedNode();
    clock.doze(3_000);
    expect(await databaseClock.becomesSure()).toBe(true);
    expect([databaseClock.now(), lease.isFresh()]).toEqual([NOON + 3_000, true]);
    expect(sinceThen()).toEqual(['beat', 'suspend', 'resume']);
  });

  test('while beats fail a caller that wants the time hurries none', async () => {
    const { clock, databaseClock, database, sinceThen } = await startedNode();
    database.isAway = true;
    await clock.advance(2_000);
    clock.jump(5_000);
    sinceThen();
    const waiting = [databaseClock.becomesSure(), databaseClock.becomesSure()];
    await settle();
    expect(sinceThen()).toEqual([]);
    await clock.advance(3_000);
    expect([await Promise.all(waiting), sinceThen()]).toEqual([[false, false], ['beat']]);
  });

  test('a beat in which the clock is set is followed by another one at once', async () => {
    const { clock, databaseClock, lease, database, sinceThen } = await startedNode();
    const answer = Promise.withResolvers<void>();
    database.hang = answer.promise;
    await clock.advance(2_000);
    clock.jump(5_000);
    answer.resolve();
    await settle();
    expect([lease.isFresh(), databaseClock.isSure()]).toEqual([true, true]);
    expect(sinceThen().filter((what) => what === 'beat').length).toBe(2);
  });

  test('a jump and a setting back of the clock of the database are said once each', async () => {
    const { clock, databaseClock, database, lease, said } = await startedNode();
    database.aheadMs = 3_600_000;
    await clock.advance(60_000);
    expect([databaseClock.now(), lease.isFresh()]).toEqual([NOON + 60_000, true]);
    await clock.advance(4_000);
    expect(databaseClock.now()).toBe(NOON + 64_000 + 3_600_000);
    database.aheadMs = 0;
    await clock.advance(4_000);
    expect(databaseClock.now()).toBe(NOON + 68_000);
    expect(said).toEqual([
      expect.stringContaining('jumped ahead'),
      expect.stringContaining('stayed ahead'),
      expect.stringContaining('set back'),
    ]);
  });
});

describe('the time connected', () => {
  test('counts from the first beat', async () => {
    const { clock, heartbeat } = await startedNode();
    await clock.advance(10_000);
    expect(heartbeat.connectedMs()).toBe(10_000);
  });

  test.each([
    ['a failed beat', false],
    ['a silence', true],
  ])('counts again after %s', async (_, isSleep) => {
    const { clock, database, heartbeat } = await startedNode();
    await clock.advance(10_000);
    if (isSleep) clock.jump(60_000);
    database.isAway = !isSleep;
    await clock.advance(2_000);
    expect(heartbeat.connectedMs()).toBe(0);
    database.isAway = false;
    await clock.advance(8_000);
    expect(heartbeat.connectedMs()).toBe(isSleep ? 8_000 : 6_000);
  });
});
