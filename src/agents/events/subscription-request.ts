import { createHash } from 'node:crypto';
import { isObject } from '../../platform/json/is-object.ts';
import { invalidParams } from '../protocol/json-rpc.ts';
import { unsupported } from './refusals.ts';

/** The key of a subscription: who asked, where it delivers, and what it listens for. */
export interface SubscriptionKey {
  name: string;
  args: Record<string, unknown>;
  url: string;
}

export interface SubscriptionRequest extends SubscriptionKey {
  secret: string;
  ttlMs: number;
}

const MIN_TTL_MS = 60_000;
const USUAL_TTL_MS = 86_400_000;
const MAX_TTL_MS = 7 * USUAL_TTL_MS;
const SECRET_BYTES = { least: 24, most: 64 };

/** `events/unsubscribe` names the same key, without a secret. */
export function readKey(params: Record<string, unknown>): SubscriptionKey {
  const { name, arguments: args = {}, delivery } = params;
  if (typeof name !== 'string' || name === '') throw invalidParams('name is required.');
  if (!isObject(args)) throw invalidParams('arguments must be an object.');
  if (!isObject(delivery)) throw invalidParams('delivery is required.');
  return { name, args, url: callbackUrl(delivery['url']) };
}

export function readSubscription(params: Record<string, unknown>): SubscriptionRequest {
  const delivery = isObject(params['delivery']) ? params['delivery'] : {};
  const { mode = 'webhook' } = delivery;
  if (mode !== 'webhook') throw unsupported('deliveryMode', mode, 'Events are delivered as webhooks only.');
  return { ...readKey(params), secret: readSecret(delivery['secret']), ttlMs: readTtl(params['ttlMs']) };
}

/** As the draft wants it. Which addresses it may name is the egress rule's to say. */
function callbackUrl(url: unknown): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  if (parsed === null || parsed.protocol !== 'https:')
    throw invalidParams('delivery.url must be an https URL.');
  if (parsed.username !== '' || parsed.password !== '' || parsed.hash !== '')
    throw invalidParams('delivery.url must have no credentials and no fragment.');
  return parsed.href;
}

function readSecret(secret: unknown): string {
  const encoded = typeof secret === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] : undefined;
  const key = Buffer.from(encoded ?? '', 'base64');
  const isUsable = key.length >= SECRET_BYTES.least && key.length <= SECRET_BYTES.most;
  if (!isUsable || key.toString('base64') !== encoded)
    throw invalidParams('delivery.secret must be whsec_ and base64 of 24 to 64 bytes.');
  return `whsec_${encoded}`;
}

/** The grant is at most the wish, but for a least one. No expiry is not granted. */
function readTtl(ttlMs: unknown): number {
  if (ttlMs === undefined) return USUAL_TTL_MS;
  if (ttlMs === null) return MAX_TTL_MS;
  if (typeof ttlMs !== 'number' || !Number.isSafeInteger(ttlMs) || ttlMs <= 0)
    throw invalidParams('ttlMs must be a whole number of milliseconds, or null.');
  return Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS);
}

/** Equal keys have equal ids, on every node. It routes, and gives no right. */
export function subscriptionId(principal: readonly string[], { url, name, args }: SubscriptionKey): string {
  const key = canonical([...principal, url, name, args]);
  return `sub_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

/** JSON with the keys of objects in order, so that equal arguments are equal text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) =>
    isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );
}
