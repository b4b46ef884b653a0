import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerMessageOut } from '../module/producer.ts';

/** A request takes ten messages. So many bytes together were always allowed; a larger message goes alone. */
const MAX_ENTRIES = 10;
const SHARED_BYTES = 262_144;
const MAX_ATTRIBUTES = 10;

/**
 * A message has ten attributes. These stay before all others, in this order; then come those of CloudEvents, and then the
 * other headers as they stand in the webhook.
 */
const FIRST = [
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'event-type',
  'content-type',
  'traceparent',
  'x-posthorn-hops',
];
const CLOUD_EVENTS = /^ce-/;

const NAME = /^(?!\.|aws\.|amazon\.|.*\.\.)[\w.-]{1,256}(?<!\.)$/i;
/** The characters that the service takes. */
const CARRIED = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;
const GROUP = /^[\x21-\x7e]{1,128}$/;

export const weightOf = ({ body, headers }: BrokerMessageOut): number =>
  Math.max(1 / MAX_ENTRIES, (body.length + sizeOf(kept(headers))) / SHARED_BYTES);

const sizeOf = (headers: BrokerMessageOut['headers']): number =>
  headers.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value) + 'String'.length, 0);

/** The headers that the service carries, ten at most. */
export function kept(headers: BrokerMessageOut['headers']): BrokerMessageOut['headers'] {
  const rank = (name: string) => {
    const place = FIRST.indexOf(name);
    if (place !== -1) return place;
    return CLOUD_EVENTS.test(name) ? FIRST.length : FIRST.length + 1;
  };
  return headers
    .filter(([name, value]) => NAME.test(name) && value !== '' && CARRIED.test(value))
    .toSorted(([a], [b]) => rank(a) - rank(b))
    .slice(0, MAX_ATTRIBUTES);
}

export function toEntry(
  { id, headers, body, orderingKey }: BrokerMessageOut,
  index: number,
  isFifo: boolean,
): SendMessageBatchRequestEntry | BrokerError {
  const text = isUtf8(body) ? body.toString() : '\0';
  if (!CARRIED.test(text))
    return new BrokerError('The body has bytes or control characters that Amazon SQS cannot carry.', {
      code: 'message_unfit',
    });
  const attributes = kept(headers).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]);
  return {
    Id: String(index),
    MessageBody: text,
    MessageAttributes: Object.fromEntries(attributes) as NonNullable<
      SendMessageBatchRequestEntry['MessageAttributes']
    >,
    ...(isFifo && { MessageGroupId: groupOf(orderingKey ?? id), MessageDeduplicationId: groupOf(id) }),
  };
}

/** Deliveries without an ordering key are groups of their own, so that none waits for another. */
function groupOf(key: string): string {
  if (key === '') return '-';
  return GROUP.test(key) ? key : createHash('sha256').update(key).digest('hex');
}
