import { expect, test } from 'vitest';
import { functionFailure, withoutFunctionMessage } from './function-failure.ts';

test.each([
  [functionFailure('source', 'secret'), 'A function of the source failed'],
  [functionFailure('subscription', 'line 1:\nsecret'), "The subscription's function failed"],
  [`Not sent: ${functionFailure('subscription', 'secret')}`, "Not sent: The subscription's function failed"],
  ['The endpoint was deleted.', 'The endpoint was deleted.'],
])('%j without the words of the function is %j', (reason, shown) => {
  expect(withoutFunctionMessage(reason)).toBe(shown);
});
