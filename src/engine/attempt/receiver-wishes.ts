import type { Outcome } from '../../dispatch/connection/outcome.ts';

/**
 * The wishes of a receiver: a header of its answer (`webhook-delivery`, as Svix has it), or a status that ends a delivery.
 * Values that are not known are ignored.
 */
const HEADER = 'webhook-delivery';
const GONE = 410;
const PAYLOAD_TOO_LARGE = 413;

type Wish = 'disable' | 'abort-message';

function wishes(outcome: Outcome, wish: Wish): boolean {
  if (outcome.kind !== 'response') return false;
  const values = outcome.headers[HEADER] ?? [];
  return values.some((value) => value.split(',').some((one) => one.trim().toLowerCase() === wish));
}

/** Also with a success: then the delivery has arrived, and is the last. */
export const asksToDisable = (outcome: Outcome): boolean => wishes(outcome, 'disable');

/** It has no fault that half of a batch might not have: it wants none of it again. */
export const asksToAbort = (outcome: Outcome): boolean => wishes(outcome, 'abort-message');

/** Why a failed delivery is not tried again, as the end of its description. Null: it may be. */
export function finalReason(
  outcome: Outcome,
  finalCodes: readonly number[],
): { verdict: 'gone' | 'failed'; note: string } | null {
  if (outcome.kind !== 'response')
    return outcome.code === 'message_too_large' || outcome.code === 'message_unfit'
      ? { verdict: 'failed', note: '; it will never fit, so it is not retried' }
      : null;
  if (asksToDisable(outcome))
    return { verdict: 'gone', note: ` with ${HEADER}: disable; it wants no more deliveries` };
  if (asksToAbort(outcome))
    return { verdict: 'failed', note: ` with ${HEADER}: abort-message; it wants no retry` };
  if (!finalCodes.includes(outcome.status)) return null;
  if (outcome.status === GONE) return { verdict: 'gone', note: '; it wants no more deliveries' };
  const why =
    outcome.status === PAYLOAD_TOO_LARGE ? 'the payload is too large for it' : 'this status is final';
  return { verdict: 'failed', note: `; ${why}, so it is not retried` };
}
