import type { OutgoingMessage } from '../dispatch/client/message-sender.ts';
import { attributeText, CLOUD_PREFIX } from '../domain/config/cloud-event.ts';
import type { DestinationKind } from '../domain/config/destination.ts';

/** The prefix of the attributes of CloudEvents, by the bindings of its specification. */
const ATTRIBUTE_PREFIX: Record<DestinationKind, string> = {
  kafka: 'ce_',
  amqp: 'cloudEvents:',
  google: CLOUD_PREFIX,
  sqs: CLOUD_PREFIX,
  s3: CLOUD_PREFIX,
};

/** The headers of a webhook as those of a message: names in lower case, and values as they are in UTF-8. */
export function messageHeaders({ headers, cloudEvents, destination }: OutgoingMessage): [string, string][] {
  const prefix = ATTRIBUTE_PREFIX[destination.type];
  const all = new Map<string, string>();
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    // Only HTTP needs the values encoded.
    if (cloudEvents === 'binary' && name.startsWith(CLOUD_PREFIX))
      all.set(`${prefix}${name.slice(CLOUD_PREFIX.length)}`, attributeText(value).toWellFormed());
    else all.set(name, value.toWellFormed());
  }
  return [...all];
}
