import type { EventRow } from '../store/queue/accept-events.ts';

export interface AcceptedEvent {
  event: EventRow;
  isDuplicate: boolean;
  /** For a duplicate: the first event with its idempotency key, unless that is no longer known. */
  duplicateOf: string | null;
}

/** `duplicateOf`: undefined if it is not a duplicate. */
export function acceptedEvent(event: EventRow, duplicateOf: string | null | undefined): AcceptedEvent {
  if (duplicateOf === undefined) return { event, isDuplicate: false, duplicateOf: null };
  const stored = {
    ...event,
    status: 'Success',
    failureReason: null,
    sourceFunctionFailed: false,
    endpointIds: [],
  };
  return { event: stored, isDuplicate: true, duplicateOf };
}
