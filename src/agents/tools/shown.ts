import { isId } from '../../domain/ids.ts';
import { readTime } from '../../domain/time.ts';
import { isObject } from '../../platform/json/is-object.ts';
import type { Json } from './project-api.ts';

/*
 * A tool shows named fields only, short and without secrets. Text that others wrote is under names that begin with
 * `untrusted_`: receivers and brokers write the reasons of failures, customers name and place their endpoints, and
 * senders choose event types, keys and the names inside payloads. So all text has the mark, but for ids, times and these
 * fields, whose words are ours.
 */
const OUR_WORDS: ReadonlySet<string> = new Set([
  'cause',
  'delivery',
  'endpoint',
  'gate',
  'held_by',
  'hint',
  'ip_address',
  'kind',
  'last_outcome',
  'outcome',
  'state',
  'status',
  'step',
  'type',
]);
const MARK = 'untrusted_';
const MAX_TEXT = 500;
const MAX_PAYLOAD = 4_000;
export const MAX_ROWS = 20;

/** These fields of a row, without those that are empty. */
export function pick(row: Json, names: readonly string[]): Record<string, Json> {
  return compact(Object.fromEntries(names.map((name) => [name, shorten(row[name])])));
}

/** An answer with the mark on all text that may be of others. */
export function marked(value: Json): Json {
  if (Array.isArray(value)) return value.map(marked);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      [one].flat().every((text) => isOurs(name, text)) ? name : `${MARK}${name}`,
      marked(one),
    ]),
  );
}

function isOurs(name: string, value: Json): boolean {
  if (typeof value !== 'string' || name.startsWith(MARK) || OUR_WORDS.has(name)) return true;
  return isId(value) || readTime(value) !== null;
}

export function compact(fields: Record<string, Json>): Record<string, Json> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

const isEmpty = (value: Json) => value === null || value === undefined || value === '';

const shorten = (value: Json) => (typeof value === 'string' ? cut(value, MAX_TEXT) : value);

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length - length} more characters)`;
}

/** A payload or an answer, as text. */
export function untrusted(value: Json): string | undefined {
  if (isEmpty(value)) return undefined;
  return cut(typeof value === 'string' ? value : JSON.stringify(value), MAX_PAYLOAD);
}

/** The first rows, and how many there are. */
export function rows(all: readonly Json[], show: (row: Json) => object, most = MAX_ROWS): object[] {
  return all.slice(0, most).map(show);
}

const BROKER = /^(kafka|amqps?|sqs|pubsub|s3):\/\//;

/** A URL may have a credential in its user, its query or its fragment. The address of a broker has none. */
function shownUrl(url: Json): string | undefined {
  if (typeof url !== 'string') return undefined;
  if (BROKER.test(url)) return cut(url, MAX_TEXT);
  if (!URL.canParse(url)) return undefined;
  const { origin, pathname, search } = new URL(url);
  return cut(`${origin}${pathname}${search === '' ? '' : '?…'}`, MAX_TEXT);
}

export const pickUrl = (row: Json) => pick({ url: shownUrl(row.url) }, ['url']);

export const endpointOf = (row: Json) => ({
  ...pick(row, [
    'uid',
    'name',
    'owner_id',
    'status',
    'state',
    'held_by',
    'delivery',
    'expires_at',
    'created_at',
  ]),
  ...pickUrl(row),
  ...pick({ agent: row.metadata?.agent }, ['agent']),
});

const DELIVERY = [
  'uid',
  'event_id',
  'event_type',
  'endpoint_id',
  'subscription_id',
  'status',
  'description',
  'waiting_for',
  'last_outcome',
  'created_at',
];

export const deliveryOf = (row: Json) => ({
  ...pick(row, DELIVERY),
  attempts: row.metadata?.num_trials,
  ...compact({ next_send_time: row.status === 'Retry' ? row.metadata?.next_send_time : null }),
});

export const attemptOf = (row: Json) => ({
  ...pick(row, ['uid', 'outcome', 'error', 'ip_address', 'cb_state', 'created_at']),
  succeeded: row.status,
  ...pick({ http_status: statusCode(row.http_status), untrusted_http_status: row.http_status }, [
    'http_status',
    'untrusted_http_status',
  ]),
  ...compact({ untrusted_answer: untrusted(row.response_data)?.slice(0, MAX_TEXT) }),
});

/** The words after the number are the receiver's own. */
function statusCode(status: Json): number | undefined {
  const code = /^\d{3}(?!\S)/.exec(String(status))?.[0];
  return code === undefined ? undefined : Number(code);
}

const JOB = [
  'uid',
  'type',
  'status',
  'endpoints',
  'total',
  'done',
  'failed',
  'error',
  'created_at',
  'finished_at',
];
export const jobOf = (row: Json) => pick(row, JOB);
