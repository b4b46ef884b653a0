import { expect, test } from 'vitest';
import { length } from '../ui/text/words.ts';
import { attemptTimes, typedSchedule } from './retry-times.ts';

test.each([
  ['linear', 100, 3, ['0 s', '1 min 40 s', '3 min 20 s', '5 min']],
  ['exponential', 10, 3, ['0 s', '10 s', '30 s', '1 min 10 s']],
  ['exponential', 5000, 3, ['0 s', '1 h 23 min', '3 h 23 min', '5 h 23 min']],
  ['linear', 86_400, 1, ['0 s', '1 d']],
  ['linear', 10, 0, ['0 s']],
] as const)('the attempts of a policy: %s, %i s, %i retries', (type, duration, retry_count, times) => {
  expect(attemptTimes({ type, duration, retry_count }).map(length)).toEqual(times);
});

test('the attempts of a list, also while it is typed', () => {
  const listed = (text: string) =>
    attemptTimes({ type: 'exponential', duration: 5, retry_count: 1, schedule: typedSchedule(text) }).map(
      length,
    );
  expect(listed('5s, 5m 1h30m,\n24h')).toEqual(['0 s', '5 s', '5 min 5 s', '1 h 35 min', '1 d 1 h']);
  expect(listed('5s, 5')).toEqual(['0 s', '5 s', '5 s']);
  expect(typedSchedule(' , ')).toEqual([]);
});
