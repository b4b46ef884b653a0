import { expect, test } from 'vitest';
import { leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { BATCH_LANE, type LeasedBatch } from '../../domain/delivery.ts';
import { IdFactory } from '../../domain/ids.ts';
import type { BatchFinish } from '../../store/queue/finish.ts';
import { judgeOutcome } from '../attempt/judge-outcome.ts';
import { back, type Sent } from '../attempt/sent.ts';
import { spread } from './spread-outcome.ts';

const deps = { ids: new IdFactory(() => NOON), now: () => NOON };
const REFUSED = { kind: 'error', code: 'connection_refused', message: 'refused' } as Outcome;
const answered = (status: number, headers: Record<string, string[]> = {}) =>
  ({ kind: 'response', status, statusText: `${status}`, headers }) as Outcome;

/** Deliveries with three tries each, of which some are used. */
function outcomeFor(used: readonly number[], outcome: Outcome): Sent<BatchFinish> {
  const members = used.map((numTrials, n) =>
    leasedDelivery({ id: `d${n}`, numTrials, lane: BATCH_LANE.member }),
  );
  const representative = members.reduce((a, b) => (b.numTrials > a.numTrials ? b : a));
  const deliveryIds = members.map(({ id }) => id);
  const batch = {
    ...representative,
    kind: 'batch',
    id: 'b',
    lane: BATCH_LANE.formed,
    deliveryIds,
  } as unknown as LeasedBatch;
  const judged = judgeOutcome(representative, outcome, { nowMs: NOON, random: 0, finalCodes: [400] });
  const sent = { ...back(representative), ...judged, exchange: { outcome, requestBytes: 1, trace: null } };
  return spread({ batch, members, representative }, sent, deps);
}

const states = ({ members }: BatchFinish) => members.map((own) => [own.status, own.numTrials]);
const delays = ({ members }: BatchFinish) => members.map(({ delayMs }) => delayMs);
const parts = ({ parts }: BatchFinish) => parts.map(({ deliveryIds }) => deliveryIds);

test('without a connection only the deliveries without tries end, and the others are tried again after their delay', () => {
  const sent = outcomeFor([2, 0, 1], REFUSED);
  expect(states(sent)).toEqual([
    ['Failure', 3],
    ['Retry', 1],
    ['Retry', 2],
  ]);
  expect(parts(sent)).toEqual([['d1', 'd2']]);
  const { members } = sent;
  expect(members.map(({ delayMs }) => delayMs !== null && delayMs >= 10_000)).toEqual([false, true, true]);
  expect(members.map(({ description }) => description)).toEqual([
    'refused; all 3 attempts are used up',
    'refused',
    'refused',
  ]);
  expect(sent).toMatchObject({ verdict: 'exhausted', delayMs: null });
});

test('after an answer the deliveries without tries go on in halves, without those that have some', () => {
  const sent = outcomeFor([2, 2, 0, 2], answered(503));
  expect(parts(sent)).toEqual([['d2'], ['d0', 'd1'], ['d3']]);
  expect(states(sent)).toEqual([
    ['Retry', 2],
    ['Retry', 2],
    ['Retry', 1],
    ['Retry', 2],
  ]);
  expect(sent).toMatchObject({ verdict: 'failed' });
  expect(states(outcomeFor([2], answered(503)))).toEqual([['Failure', 3]]);
});

test('those halves wait as after a first failure, so that an endpoint that fails all gets no burst of requests', () => {
  const { members } = outcomeFor([2, 2], answered(503));
  for (const { delayMs, description } of members) {
    expect(description).toBe('The endpoint answered 503');
    expect(delayMs).toBeGreaterThanOrEqual(10_000);
    expect(delayMs).toBeLessThanOrEqual(12_000);
  }
  expect(delays(outcomeFor([2, 2], answered(429, { 'retry-after': ['60'] })))).toEqual([60_000, 60_000]);
});

test.each([413, 400])('a split after %s uses no tries and does not wait', (status) => {
  const sent = outcomeFor([0, 2, 1], answered(status));
  expect(parts(sent)).toEqual([['d0', 'd1'], ['d2']]);
  expect(delays(sent)).toEqual([0, 0, 0]);
  expect(states(sent)).toEqual([
    ['Scheduled', 0],
    ['Retry', 2],
    ['Retry', 1],
  ]);
});

test('a batch without tries ends as a whole when there is no connection', () => {
  const sent = outcomeFor([2, 2], REFUSED);
  expect([states(sent), parts(sent)]).toEqual([
    [
      ['Failure', 3],
      ['Failure', 3],
    ],
    [],
  ]);
});
