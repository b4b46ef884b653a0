import { createHash } from 'node:crypto';
import type { Ordering } from '../domain/config/subscription.ts';
import type { FilterSubject } from '../matcher/filter-subject.ts';

/**
 * The ordering key of a delivery. Deliveries with the same id go one after another (src/store/ordering). The id is the
 * subscription and the key, so a change of the expression starts new keys and the old ones drain.
 */
const MAX_KEY_BYTES = 200;
const BODY = '$.body.';
const HEADERS = '$.headers.';

/** Its key, from the event's own or by the expression. Null: the event has none that can be read. */
export function orderingKeyOf(
  ordering: Ordering,
  event: { orderingKey?: string | null; subject: FilterSubject },
): string | null {
  const given = event.orderingKey ?? null;
  if (given !== null) return given;
  return ordering.key === 'endpoint' ? '' : read(ordering.key, event.subject);
}

/** The id of its row in `ordering_keys`. Events without a key share the empty one. */
export function orderingIdOf(
  { id, endpoint_id, ordering }: { id: string; endpoint_id: string; ordering: Ordering | null },
  event: { orderingKey?: string | null; subject: FilterSubject },
): string | null {
  if (ordering === null) return null;
  const key = orderingKeyOf(ordering, event) ?? '';
  return `${ordering.key === 'endpoint' ? endpoint_id : id}:${storable(key)}`;
}

/** The key in an id, for people. */
export const keyInId = (orderingId: string): string => orderingId.slice(orderingId.indexOf(':') + 1);

function read(expression: string, subject: FilterSubject): string | null {
  if (expression.startsWith(HEADERS))
    return asKey(own(subject.root('headers'), expression.slice(HEADERS.length).toLowerCase()));
  let value = subject.root('body');
  for (const name of expression.slice(BODY.length).split('.')) value = own(value, name);
  return asKey(value);
}

function own(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function asKey(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** An id is the key of an index, and the database stores no null character. */
function storable(key: string): string {
  if (Buffer.byteLength(key) <= MAX_KEY_BYTES && !key.includes('\0')) return key;
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
