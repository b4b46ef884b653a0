import type { LastFailure } from '../../domain/alert.ts';
import type { Sent } from './sent.ts';

/** What people are told of an attempt that failed. */
export function lastFailure({ finish }: Sent): LastFailure {
  return {
    status: finish.attempt?.httpStatus ?? null,
    reason: finish.description ?? finish.attempt?.error ?? 'unknown',
  };
}
