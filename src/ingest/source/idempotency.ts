import { createHash } from 'node:crypto';
import type { Payload } from '../request/body.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import { extractValue, type Location } from './location.ts';

/**
 * The idempotency key of an event: SHA-256 in hex over the source's uid and the values, each after its length
 * in bytes. The lengths prevent two different lists from giving the same key. Null if there is no value.
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

/** Compiles a source's `idempotency_keys` into a function that computes a request's key. */
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
