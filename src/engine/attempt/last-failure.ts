import type { LastFailure } from '../../domain/alert.ts';
import type { Tried } from './sent.ts';

/** The text of a failed attempt for people. */
export function lastFailure({ finish }: Tried): LastFailure {
  return {
    status: finish.attempt?.httpStatus ?? null,
    reason: finish.description ?? finish.attempt?.error ?? 'unknown',
  };
}
