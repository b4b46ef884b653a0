import type { Sealer } from '../platform/sealer.ts';

/**
 * How often an event has come back to this instance: an endpoint may lead to an ingest URL of ours, directly, through a
 * proxy or under another name, or to the broker of a source. Every delivery of an event that came in so carries the count. It is a number
 * and its keyed hash, so a count that others wrote is no count.
 *
 *   sender ── no count ──> event, 0 hops ── 1 ──> event, 1 hop ── 2 ──> ... ── 5 ──> event, 5 hops: not sent on
 */
export const HOPS_HEADER = 'X-Posthorn-Hops';
export const MAX_HOPS = 5;
const HASH_CHARS = 22;

type Key = Pick<Sealer, 'lookupHash'>;

/** The values of the header for 1, 2, ... hops. */
const values = new WeakMap<Key, readonly string[]>();

function valuesOf(sealer: Key): readonly string[] {
  let known = values.get(sealer);
  if (known === undefined) {
    const hash = (hops: number) =>
      sealer.lookupHash(`hops ${hops}`).toString('base64url').slice(0, HASH_CHARS);
    known = Array.from({ length: MAX_HOPS }, (_, index) => `${index + 1}.${hash(index + 1)}`);
    values.set(sealer, known);
  }
  return known;
}

/** 0 where it is not a count of ours. */
export function readHops(sealer: Key, value: unknown): number {
  return typeof value === 'string' ? valuesOf(sealer).indexOf(value) + 1 : 0;
}

type Headers = Readonly<Record<string, readonly string[]>>;

/** Headers of an event that came back, with its count, which replaces any other. */
export function withHops(sealer: Key, headers: Headers, hops: number): Headers {
  return { ...withoutHops(headers), [HOPS_HEADER]: [valuesOf(sealer)[hops - 1] ?? ''] };
}

export function withoutHops(headers: Headers): Headers {
  const name = HOPS_HEADER.toLowerCase();
  return Object.fromEntries(Object.entries(headers).filter(([given]) => given.toLowerCase() !== name));
}

export const storedHops = (sealer: Key, headers: Headers): number =>
  readHops(sealer, headers[HOPS_HEADER]?.[0]);

/** The count that a delivery carries. Null: its event did not come in by an ingest URL or a broker. */
export function nextHops(sealer: Key, headers: Headers, isIncoming: boolean): string | null {
  const hops = storedHops(sealer, headers);
  return hops > 0 || isIncoming ? (valuesOf(sealer)[Math.min(hops, MAX_HOPS - 1)] ?? null) : null;
}
