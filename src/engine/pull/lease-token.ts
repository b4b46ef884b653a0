import { timingSafeEqual } from 'node:crypto';
import type { Sealer } from '../../platform/sealer.ts';

/**
 * The text that a consumer gets with a delivery and sends back with its result: the fence of the row, the id that the
 * attempt will have, and a keyed hash over both and the delivery. So a result can name only a lease that was given out,
 * and the same result twice is one attempt.
 */
export interface PullLease {
  fence: number;
  attemptId: string;
}

const HASH_CHARS = 16;

export function leaseToken(
  sealer: Pick<Sealer, 'lookupHash'>,
  deliveryId: string,
  { fence, attemptId }: PullLease,
): string {
  return `${fence}.${attemptId}.${hashOf(sealer, deliveryId, `${fence}.${attemptId}`)}`;
}

/** Null: it was not given out for this delivery. */
export function readLease(
  sealer: Pick<Sealer, 'lookupHash'>,
  deliveryId: string,
  token: string,
): PullLease | null {
  const [fence = '', attemptId = '', hash = ''] = token.split('.');
  const given = Buffer.from(hash);
  const wanted = Buffer.from(hashOf(sealer, deliveryId, `${fence}.${attemptId}`));
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
  return { fence: Number(fence), attemptId };
}

function hashOf(sealer: Pick<Sealer, 'lookupHash'>, deliveryId: string, lease: string): string {
  return sealer.lookupHash(`pull lease ${deliveryId} ${lease}`).toString('base64url').slice(0, HASH_CHARS);
}
