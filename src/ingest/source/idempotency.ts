import { createHash } from 'node:crypto';
import type { Payload } from '../request/body.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import { extractValue, type Location } from './location.ts';

/**
 * The key of an event: SHA-256 in hex over the source's uid and the values, each behind its length in bytes,
 * so that no two lists of values run together into the same key. Null, no key, if there is no value at all.
 */
export function idempotencyChecksum(sourceId: string, values: readonly string[]): string | null {
  if (values.every((value) => value === '')) return null;
  const hash = createHash('sha256');
  for (const text of [sourceId, ...values]) {
    const bytes = Buffer.from(text, 'utf8');
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}

/** The function that finds a request's key, for a source's `idempotency_keys`. */
export function compileIdempotencyKey(
  sourceId: string,
  locations: readonly Location[],
): (request: IngestRequest, payload: Payload) => string | null {
  return (request, payload) =>
    idempotencyChecksum(
      sourceId,
      locations.map((location) => extractValue(location, request, payload)),
    );
}
