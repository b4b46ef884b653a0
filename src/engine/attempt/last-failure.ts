import type { LastFailure } from '../../domain/alert.ts';
import type { Tried } from './sent.ts';

/** What people are told of an attempt that failed. */
export function lastFailure({ finish }: Tried): LastFailure {
  return {
    status: finish.attempt?.httpStatus ?? null,
    reason: finish.description ?? finish.attempt?.error ?? 'unknown',
  };
}
