import { expect, test } from 'vitest';
import { length } from '../ui/text/words.ts';
import { attemptTimes } from './retry-times.ts';

test.each([
  ['linear', 100, 3, ['0 s', '1 min 40 s', '3 min 20 s', '5 min']],
  ['exponential', 10, 3, ['0 s', '10 s', '30 s', '1 min 10 s']],
  ['exponential', 5000, 3, ['0 s', '1 h 23 min', '3 h 23 min', '5 h 23 min']],
  ['linear', 86_400, 1, ['0 s', '1 d']],
  ['linear', 10, 0, ['0 s']],
] as const)('the attempts of a policy: %s, %i s, %i retries', (type, duration, retry_count, times) => {
  expect(attemptTimes({ type, duration, retry_count }).map(length)).toEqual(times);
});
