import { createHash } from 'node:crypto';
import type { ConsumeMessage } from 'amqplib';
import type { ReceivedMessage } from '../module/broker-module.ts';

/**
 * A message that comes again has the `message_id` and the body that it had. The body is part of the key, because senders
 * are free in their ids: two messages with one id and two bodies are two. A message without an id has no key.
 */
export function received({ content, properties }: ConsumeMessage): ReceivedMessage {
  const id = idOf(properties.messageId);
  return {
    key: id === null ? null : createHash('sha256').update(`${id}\0`).update(content).digest('base64url'),
    body: content,
    headers: {
      ...contentTypeOf(properties),
      ...Object.fromEntries(
        Object.entries(properties.headers ?? {}).map(([name, value]) => [name, headerText(value)]),
      ),
    },
    id,
  };
}

/** Only CloudEvents need their type. Other messages are JSON, and keep the headers that they have. */
function contentTypeOf({ contentType, headers }: ConsumeMessage['properties']): Record<string, string> {
  const type: unknown = contentType;
  const isCloud =
    typeof type === 'string' &&
    (/^application\/cloudevents/i.test(type) ||
      Object.keys(headers ?? {}).some((name) => /^(ce[-_]|cloudevents[:_])/i.test(name)));
  return isCloud ? { 'content-type': type } : {};
}

const idOf = (given: unknown): string | null => (typeof given === 'string' && given !== '' ? given : null);

/** Headers have types in AMQP. Tables and lists, such as `x-death`, become JSON. */
function headerText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value)) return value.toString();
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value as number | bigint | boolean);
}
