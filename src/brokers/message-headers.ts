import type { OutgoingMessage } from '../dispatch/client/message-sender.ts';
import { attributeText, CLOUD_PREFIX } from '../domain/config/cloud-event.ts';
import type { DestinationKind } from '../domain/config/destination.ts';

/** Headers of the webhook that speak of HTTP, and mean nothing in a message. */
const OF_HTTP: ReadonlySet<string> = new Set(['user-agent', 'accept-encoding', 'webhook-request-origin']);

/** The prefix of the attributes of CloudEvents, by the bindings of its specification. */
const ATTRIBUTE_PREFIX: Record<DestinationKind, string> = {
  kafka: 'ce_',
  amqp: 'cloudEvents:',
  google: CLOUD_PREFIX,
  sqs: CLOUD_PREFIX,
  s3: CLOUD_PREFIX,
};

/** The headers of a webhook as those of a message, with names in lower case. */
export function messageHeaders(message: OutgoingMessage): [string, string][] {
  const { headers, eventType, cloudEvents, destination } = message;
  const prefix = ATTRIBUTE_PREFIX[destination.type];
  const all = new Map<string, string>();
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    if (OF_HTTP.has(name)) continue;
    // Only HTTP needs the values encoded.
    if (cloudEvents === 'binary' && name.startsWith(CLOUD_PREFIX))
      all.set(`${prefix}${name.slice(CLOUD_PREFIX.length)}`, attributeText(value));
    else all.set(name, value);
  }
  if (!all.has('event-type')) all.set('event-type', eventType);
  return [...all];
}
