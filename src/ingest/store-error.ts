import { AppError, type DatabaseFault } from '../domain/errors.ts';
import { because, isConnectionError, isDataError } from '../store/database/pg-errors.ts';
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

const REFUSALS: Record<DatabaseFault, string> = {
  unreachable: 'refused events: the database cannot be reached',
  full: 'refused events: the disk of the database is full',
  read_only: 'refused events: the database takes no writes',
  refused: 'refused events: the database refuses this node',
  busy: 'refused events: the database is busy',
};

/** For the log. */
export const refusalText = (error: unknown): string =>
  REFUSALS[because(error instanceof LostAnswer ? error.cause : error).reason];

/** The error for the sender of an event that could not be stored. */
export function storeError({ idempotencyKey }: EventRow, error: unknown): Error {
  if (error instanceof LostAnswer) {
    const advice = idempotencyKey === null ? LOOK_FIRST : REPEAT;
    return new AppError('outcome_unknown', { retry: RETRY_SECONDS, advice }, because(error.cause));
  }
  if (isConnectionError(error))
    return new AppError('database_unavailable', { retry: RETRY_SECONDS }, because(error));
  if (isDataError(error))
    return new AppError(
      'validation_failed',
      { fields: 'the event contains text that cannot be stored' },
      { cause: error },
    );
  return error instanceof Error ? error : new Error(String(error));
}
