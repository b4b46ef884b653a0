import { expect, test } from 'vitest';
import { positionKey } from './partition-lots.ts';

test('positions compare as text in the order of the log, and a new leader begins after everything before', () => {
  const log = [
    { leaderEpoch: -1, offset: 0n },
    { leaderEpoch: 0, offset: 9n },
    { leaderEpoch: 0, offset: 10n },
    { leaderEpoch: 2, offset: 11n },
    { leaderEpoch: 2, offset: 2n ** 63n - 1n },
    // The end of the log was lost, and its offsets are used again.
    { leaderEpoch: 10, offset: 10n },
    { leaderEpoch: 2 ** 31 - 1, offset: 11n },
  ];
  const keys = log.map(positionKey);
  expect(keys.toSorted()).toEqual(keys);
});
