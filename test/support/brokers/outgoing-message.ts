import type { BrokerMessageOut, ProducerContext } from '../../../src/brokers/module/producer.ts';
import { HttpClient } from '../../../src/dispatch/client/http-client.ts';
import type { OutgoingMessage } from '../../../src/dispatch/client/message-sender.ts';
import type { Destination } from '../../../src/domain/config/destination.ts';
import { quietLog } from '../quiet-log.ts';

/** A delivery to a broker. */
export const outgoing = (destination: Destination, more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  destination,
  projectId: 'a',
  id: 'an-id',
  eventType: 'made.up',
  headers: [['webhook-id', '1']],
  body: Buffer.from('{}'),
  orderingKey: null,
  isAtMostOnce: false,
  cloudEvents: '',
  timeoutMs: 30_000,
  ...more,
});

/** A message as a producer gets it. Its time is never over. */
export const messageOut = <To extends Destination>(
  destination: To,
  more: Partial<Omit<BrokerMessageOut, 'destination'>> = {},
): BrokerMessageOut & { destination: To } => ({
  destination,
  id: 'an-id',
  eventType: 'made.up',
  headers: [],
  body: Buffer.from('{}'),
  orderingKey: null,
  isAtMostOnce: false,
  limit: { isOver: false, begin: () => undefined, whenOver: () => undefined },
  ...more,
});

/** A network in which every address may be connected to. */
export function networkOf(more: Partial<ProducerContext> = {}): ProducerContext {
  const http = new HttpClient({ egress: 'any' });
  return {
    egress: http.egress,
    secureContext: () => http.secureContext(),
    workload: {} as never,
    log: quietLog,
    signal: new AbortController().signal,
    lost: () => undefined,
    ...more,
  };
}
