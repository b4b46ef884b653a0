import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ManualClock, settle } from '../../test/support/samples/manual-clock.ts';
import { Loop } from './loop.ts';

/** A loop of 10 ms whose turns last until they are ended. */
function loopOf(everyMs: number | null = 10) {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  let turns = 0;
  let end: ((error?: Error) => void) | undefined;
  const loop = new Loop({
    turn: () => {
      expect(end).toBeUndefined();
      turns += 1;
      return new Promise<void>((resolve, reject) => {
        end = (error) => {
          end = undefined;
          if (error === undefined) resolve();
          else reject(error);
        };
      });
    },
    onError: (error) => errors.push(error),
    ...(everyMs !== null && { everyMs }),
    clock,
  });
  return {
    clock,
    loop,
    errors,
    turns: () => turns,
    isRunning: () => end !== undefined,
    endTurn: async (error?: Error) => {
      end?.(error);
      await settle();
    },
  };
}

test('a turn begins each time the wait is over, counted from the end of the turn before', async () => {
  const { clock, loop, turns, endTurn } = loopOf();
  loop.start();
  await clock.advance(9);
  expect(turns()).toBe(0);
  await clock.advance(1);
  expect(turns()).toBe(1);
  await clock.advance(100);
  expect(turns()).toBe(1);
  await endTurn();
  await clock.advance(9);
  expect(turns()).toBe(1);
  await clock.advance(1);
  expect(turns()).toBe(2);
});

test('a wake begins a turn at once, and the wait begins again after it', async () => {
  const { clock, loop, turns, endTurn } = loopOf();
  loop.start();
  await clock.advance(8);
  loop.wake();
  await settle();
  expect(turns()).toBe(1);
  await endTurn();
  await clock.advance(8);
  expect(turns()).toBe(1);
  await clock.advance(2);
  expect(turns()).toBe(2);
});

test('wakes of the same moment share a turn, and wakes during a turn share the next', async () => {
  const { clock, loop, turns, endTurn } = loopOf();
  loop.start();
  loop.wake();
  loop.wake();
  await settle();
  loop.wake();
  loop.wake();
  expect(turns()).toBe(1);
  await endTurn();
  expect(turns()).toBe(2);
  await endTurn();
  await clock.advance(9);
  expect(turns()).toBe(2);
});

test('a wake before the start is remembered, and runs nothing yet', async () => {
  const { loop, turns } = loopOf();
  loop.wake();
  await settle();
  expect(turns()).toBe(0);
  loop.start();
  await settle();
  expect(turns()).toBe(1);
});

test('a second start begins no second loop', async () => {
  const { clock, loop, turns } = loopOf();
  loop.start();
  loop.start();
  expect(clock.timers).toBe(1);
  await clock.advance(10);
  loop.start();
  await settle();
  expect([turns(), clock.timers]).toEqual([1, 0]);
});

test('a turn that throws is reported, and the loop goes on', async () => {
  const { clock, loop, turns, errors, endTurn } = loopOf();
  loop.start();
  await clock.advance(10);
  const error = new Error('broken');
  await endTurn(error);
  expect(errors).toEqual([error]);
  await clock.advance(10);
  expect(turns()).toBe(2);
});

test('a stop waits for the running turn, and nothing begins after it', async () => {
  const { clock, loop, turns, endTurn } = loopOf();
  loop.start();
  loop.wake();
  await settle();
  loop.wake();
  let isStopped = false;
  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  await settle();
  expect([isStopped, loop.isStopped]).toEqual([false, true]);
  await endTurn();
  await stopped;
  loop.start();
  loop.wake();
  await clock.advance(1_000);
  expect([turns(), clock.timers]).toEqual([1, 0]);
});

test('a stop takes back the turn that a wake has just asked for', async () => {
  const { loop, turns } = loopOf();
  loop.start();
  loop.wake();
  await loop.stop();
  expect(turns()).toBe(0);
});

test('a loop without an interval runs when it is woken, and keeps no timer', async () => {
  const { clock, loop, turns, endTurn } = loopOf(null);
  loop.start();
  await clock.advance(1_000);
  expect([turns(), clock.timers]).toEqual([0, 0]);
  loop.wake();
  await settle();
  await endTurn();
  expect([turns(), clock.timers]).toEqual([1, 0]);
});

/** The invariants hold for any order of operations. */
test('start, wake, stop, the end of turns and the passing of time work in any order', async () => {
  const step = fc.constantFrom('start', 'wake', 'wake', 'end', 'fail', 'time', 'time', 'stop');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { clock, loop, turns, isRunning, endTurn } = loopOf();
      let [isStarted, isStopped, isOwed] = [false, false, false];
      for (const name of steps) {
        const before = { turns: turns(), isRunning: isRunning() };
        if (name === 'start') loop.start();
        if (name === 'wake') loop.wake();
        if (name === 'end') await endTurn();
        if (name === 'fail') await endTurn(new Error('broken'));
        if (name === 'time') await clock.advance(10);
        if (name === 'stop') void loop.stop();
        isStarted ||= name === 'start';
        isOwed ||= name === 'wake';
        await settle();
        const hadTurn = turns() > before.turns;
        const isAtWork = isStarted && !isStopped && name !== 'stop';
        // No turn is lost: one that was asked for has begun, unless another was in its way.
        if (isAtWork && (isOwed || name === 'time') && !before.isRunning) expect(hadTurn).toBe(true);
        if (hadTurn) {
          expect(isAtWork).toBe(true);
          isOwed = false;
        }
        isStopped ||= name === 'stop';
        // While it works, a turn runs or a timer stands: never both, never neither.
        const waits = isStarted && !isStopped && !isRunning();
        expect(clock.timers).toBe(waits ? 1 : 0);
      }
      void endTurn();
      await loop.stop();
      expect([clock.timers, isRunning()]).toEqual([0, false]);
    }),
    { numRuns: 300 },
  );
});
