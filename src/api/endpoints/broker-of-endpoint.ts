import type { Static } from 'typebox';
import { brokerOutput } from '../../domain/brokers/broker-schema.ts';
import { type Destination, destinationKinds } from '../../domain/config/destination.ts';
import { invalid } from '../../domain/errors.ts';
import { type BrokerInput, perKind } from '../../domain/resources/endpoint-credentials.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { readBroker } from '../brokers/read-broker.ts';
import { Problems } from '../http/problems.ts';

/** The broker of an endpoint, in the API. */
type GivenBroker = Static<typeof BrokerInput> & Readonly<Record<string, Given | undefined>>;
type Given = Readonly<Record<string, unknown>>;

export const Broker = Type.Object({
  type: oneOf(destinationKinds),
  ...perKind((kind) => nullable(brokerOutput(kind, 'destination'))),
});

export const toBroker = (destination: Destination | null): Static<typeof Broker> | null =>
  destination && { ...perKind(() => null), ...destination };

/** The broker that a request names. Settings are replaced as a whole, so that no stored credential goes to another server. */
export function readDestination(input: Static<typeof BrokerInput>): Destination | null {
  const given = input as GivenBroker;
  const kind = input.type || undefined;
  if (kind === undefined) {
    if (destinationKinds.some((one) => given[one] !== undefined)) throw invalid('broker.type', 'is required');
    return null;
  }
  const settings = given[kind];
  if (settings === undefined) throw invalid(`broker.${kind}`, `is required when broker.type is ${kind}`);
  const problems = new Problems();
  const path = `broker.${kind}`;
  const read = readBroker({ kind, use: 'destination' }, settings, { path, problems });
  problems.throwIfAny();
  return { type: kind, [kind]: read } as unknown as Destination;
}
