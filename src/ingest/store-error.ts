import { AppError } from '../domain/errors.ts';
import { isConnectionError, isDataError } from '../store/database/pg-errors.ts';
import type { EventRow } from '../store/queue/accept-events.ts';

export const RETRY_SECONDS = 1;
const REPEAT =
  'Send it again with the same idempotency key. If it was stored, the response names it in duplicate_of and nothing is sent twice.';
const LOOK_FIRST =
  'Look for it among the events before you send it again. With an idempotency key a repeat is never sent twice.';

/** A statement was sent and not answered, so its rows may be stored. */
export class LostAnswer extends Error {
  constructor(cause: unknown) {
    super('the answer of the database was lost', { cause });
  }
}

/** Whether the database was not reached, or did not answer. */
export function isLost(error: unknown): boolean {
  return error instanceof LostAnswer || isConnectionError(error);
}

/** The error for the sender of an event that could not be stored. */
export function storeError({ idempotencyKey }: EventRow, error: unknown): Error {
  const cause = { cause: error };
  if (error instanceof LostAnswer) {
    const advice = idempotencyKey === null ? LOOK_FIRST : REPEAT;
    return new AppError('outcome_unknown', { retry: RETRY_SECONDS, advice }, cause);
  }
  if (isConnectionError(error)) return new AppError('database_unavailable', { retry: RETRY_SECONDS }, cause);
  if (isDataError(error))
    return new AppError(
      'validation_failed',
      { fields: 'the event contains text that cannot be stored' },
      cause,
    );
  return error instanceof Error ? error : new Error(String(error));
}
