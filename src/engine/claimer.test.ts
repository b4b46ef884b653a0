import { expect, test } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { Claimer, type ClaimerDeps } from './claimer.ts';
import type { GateDecision } from './gates.ts';
import { Lease } from './lease.ts';

/** A claimer that never claims, since every gate is closed: which keys it asks about shows what it holds to be due. */
function claimerAsking(decideGate: (key: string) => void) {
  const lease = new Lease(systemClock);
  lease.confirmed(systemClock.now(), systemClock.elapsed());
  const closed: GateDecision = { open: false };
  return new Claimer({
    lease,
    decideGate: (_projectId: string, key: string) => {
      decideGate(key);
      return closed;
    },
  } as unknown as ClaimerDeps);
}

test('a key that becomes due while a round is choosing gets the next round, without a sweep', async () => {
  const asked: string[] = [];
  let nextDueAt = Number.POSITIVE_INFINITY;
  const answered = new Promise<void>((resolve) => {
    const claimer = claimerAsking((key) => {
      asked.push(key);
      // The round is still busy with another key at that moment.
      if (key === 'busy') while (performance.now() <= nextDueAt);
      else resolve(claimer.stop());
    });
    claimer.waiting('project', { key: 'busy', lane: 0 }, 0);
    claimer.waiting('project', { key: 'next', lane: 0 }, 20);
    nextDueAt = performance.now() + 20;
  });
  await answered;
  expect(asked[0]).toBe('busy');
});
