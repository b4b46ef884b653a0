import type { AmqpSettings, PubSubInput, SourcePubSub } from '../../domain/config/source.ts';
import { readBroker } from '../brokers/read-broker.ts';
import type { Problems } from '../http/problems.ts';

/** Broker settings, checked to be complete and of the right types. No broker is contacted. */
export function readPubSub(given: PubSubInput, problems: Problems): SourcePubSub | null {
  if (given.workers === 0) problems.add('pub_sub.workers', 'must be at least 1');
  const workers = given.workers ?? 1;
  const type = given.type || undefined;
  if (type === undefined) {
    problems.add('pub_sub.type', 'is required');
    return null;
  }
  const settings = given[type];
  if (settings === undefined) {
    problems.add(`pub_sub.${type}`, `is required when pub_sub.type is ${type}`);
    return null;
  }
  const at = { path: `pub_sub.${type}`, problems };
  const read = readBroker({ kind: type, use: 'source' }, settings, at);
  return { type, workers, [type]: type === 'amqp' ? boundTo(read) : read } as unknown as SourcePubSub;
}

/** Requests and responses have other names for the binding of a queue, as Convoy has them. */
function boundTo({ bindExchange, ...read }: Record<string, unknown>): AmqpSettings {
  const { exchange = null, routingKey = '' } = (bindExchange ?? {}) as {
    exchange?: string;
    routingKey?: string;
  };
  const { deadLetterExchange } = read as { deadLetterExchange: string };
  return {
    ...read,
    deadLetterExchange: deadLetterExchange || null,
    bindedExchange: exchange,
    routingKey,
  } as unknown as AmqpSettings;
}
