import { expect, test } from 'vitest';
import { AppError } from '../../domain/errors.ts';
import { BrokerError, reasonOf } from './broker-error.ts';

test.each([
  [new BrokerError('The password is wrong.'), 'The password is wrong.'],
  [new AppError('overloaded', { retry: 1 }), new AppError('overloaded', { retry: 1 }).message],
  [new Error('relation "events" does not exist'), 'The source failed for a reason that is in the log.'],
  ['text', 'The source failed for a reason that is in the log.'],
])('the owner of a source reads of %s only if it was written for the owner', (error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});
