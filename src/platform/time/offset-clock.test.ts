import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { OffsetClock } from './offset-clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A clock of another machine, ahead by a second and measured once. Without a change it goes on with time. */
async function scene() {
  const own = new ManualClock();
  const started = own.now() - own.elapsed();
  const clock = new OffsetClock(own);
  let ahead = 1_000;
  const theirs = () => started + own.uptime() + ahead;
  /** The answer takes `thereMs` to the reading of the other clock and `backMs` from it. */
  const measure = async (thereMs = 1, backMs = 1, meanwhile = () => {}) => {
    const [at, elapsed] = [own.now(), own.elapsed()];
    await own.advance(thereMs);
    const read = theirs();
    meanwhile();
    await own.advance(backMs);
    return clock.measured(read, at, elapsed);
  };
  return {
    own,
    clock,
    measure,
    /** The other clock is set. */
    set: (ms: number) => (ahead += ms),
    error: () => clock.now() - theirs(),
  };
}

async function measured() {
  const all = await scene();
  await all.measure();
  return all;
}

describe('a measurement', () => {
  test('counts however slow, if it is the first', async () => {
    const { measure, error } = await scene();
    await measure(10, 190);
    expect(error()).toBe(-90);
  });

  test('replaces one with a longer round trip, and is not shifted by one', async () => {
    const { measure, error } = await scene();
    await measure(10, 190);
    await measure(1, 1);
    expect(error()).toBe(0);
    await measure(1, 400);
    expect(error()).toBe(0);
  });

  test('with a longer round trip moves the clock as far as it must', async () => {
    const { measure, set, error } = await measured();
    set(500);
    await measure(10, 10);
    expect(error()).toBe(-10);
  });

  test('follows a drift although every later round trip is a little longer than the shortest', async () => {
    const { measure, set, error } = await scene();
    await measure(0, 1);
    for (let i = 1; i <= 100; i++) {
      set(0.1);
      await measure(1, 1);
    }
    expect(Math.abs(error())).toBeLessThanOrEqual(1);
  });

  test('says nothing if our own clock was set meanwhile', async () => {
    const { own, clock, measure, error } = await measured();
    expect(await measure(1, 1, () => own.jump(HOUR_MS))).toBeNull();
    expect([error(), clock.isSure()]).toEqual([0, false]);
    await measure();
    expect([error(), clock.isSure()]).toEqual([0, true]);
  });
});

describe('our wall clock', () => {
  test.each([HOUR_MS, -HOUR_MS])(
    'has no part in the time, and is in doubt after a jump of %d ms',
    async (ms) => {
      const { own, clock, measure, error } = await measured();
      own.jump(ms);
      expect([error(), clock.isSure()]).toEqual([0, false]);
      expect(await measure()).toBeNull();
      expect([error(), clock.isSure()]).toEqual([0, true]);
    },
  );

  test('is not in doubt after a step of a second', async () => {
    const { own, clock } = await measured();
    own.jump(1_000);
    expect(clock.isSure()).toBe(true);
    own.jump(1);
    expect(clock.isSure()).toBe(false);
  });

  test('in doubt asks for a measurement and waits for it, but not for ever', async () => {
    const { own, clock, measure } = await measured();
    let asked = 0;
    clock.onDoubt(() => (asked += 1));
    expect(await clock.becomesSure()).toBe(true);
    own.jump(HOUR_MS);
    const [first, second] = [clock.becomesSure(), clock.becomesSure()];
    await measure();
    expect([await first, await second, asked]).toEqual([true, true, 2]);
    own.jump(HOUR_MS);
    const late = clock.becomesSure();
    await own.advance(3_000);
    expect(await late).toBe(false);
  });
});

test('a sleep, in which the monotonic clock stands still, is made up for at once', async () => {
  const { own, clock, measure, error } = await measured();
  own.doze(HOUR_MS);
  expect([error(), clock.isSure()]).toEqual([-HOUR_MS, false]);
  expect(await measure()).toBeNull();
  expect([error(), clock.isSure(), clock.aheadMs]).toEqual([0, true, 0]);
});

describe('the other clock', () => {
  test('is followed at once where it was set back, and says so', async () => {
    const { measure, set, error } = await measured();
    set(-HOUR_MS);
    expect(await measure()).toEqual({ kind: 'set back', ms: HOUR_MS });
    expect(error()).toBe(0);
    set(-1_000);
    expect(await measure()).toBeNull();
    expect(error()).toBe(0);
  });

  test('is followed after a jump ahead once that has lasted a minute', async () => {
    const { own, clock, measure, set, error } = await measured();
    set(HOUR_MS);
    expect(await measure(0, 0)).toEqual({ kind: 'ahead', ms: HOUR_MS });
    await own.advance(MINUTE_MS - 1);
    expect(await measure(0, 0)).toBeNull();
    expect([error(), clock.aheadMs, clock.isSure()]).toEqual([-HOUR_MS, HOUR_MS, true]);
    await own.advance(1);
    expect(await measure(0, 0)).toEqual({ kind: 'followed', ms: HOUR_MS });
    expect([error(), clock.aheadMs]).toEqual([0, 0]);
  });

  test('is not followed where it was wrong for a shorter time', async () => {
    const { own, clock, measure, set, error } = await measured();
    set(720 * HOUR_MS);
    await measure();
    await own.advance(6_000);
    set(-720 * HOUR_MS);
    expect(await measure()).toBeNull();
    expect([error(), clock.aheadMs]).toEqual([0, 0]);
    await own.advance(MINUTE_MS);
    set(720 * HOUR_MS);
    expect(await measure()).toMatchObject({ kind: 'ahead' });
    expect(error()).toBe(-720 * HOUR_MS);
  });

  test('is followed by no more than it was ahead for the whole minute', async () => {
    const { own, measure, set, error } = await measured();
    set(HOUR_MS);
    await measure(0, 0);
    await own.advance(MINUTE_MS - 1_000);
    set(720 * HOUR_MS);
    await measure(0, 0);
    await own.advance(1_000);
    expect(await measure(0, 0)).toEqual({ kind: 'followed', ms: HOUR_MS });
    expect(error()).toBe(-720 * HOUR_MS);
    expect(await measure(0, 0)).toMatchObject({ kind: 'ahead' });
  });

  test('that is on the machine of ours is not followed either while both are wrong', async () => {
    const { own, measure, set, error } = await measured();
    own.jump(HOUR_MS);
    set(HOUR_MS);
    expect(await measure()).toMatchObject({ kind: 'ahead' });
    expect(error()).toBe(-HOUR_MS);
  });
});
