import type { BaseOptions } from '@platformatic/kafka';
import { bareBroker } from '../../domain/config/destination.ts';
import type { NetworkContext } from '../module/broker-module.ts';
import { vettedLookup } from '../module/vetted-lookup.ts';
import './guard-connections.ts';
import type { ConnectionLimits } from './guard-connections.ts';
import { type KafkaPlace, signIn } from './sign-in.ts';

const CONNECT_MS = 10_000;
const REQUEST_MS = 20_000;

export const isSecure = ({ auth }: KafkaPlace): boolean => auth?.tls === true;

export function clientOptions(
  place: KafkaPlace,
  { egress, secureContext }: Pick<NetworkContext, 'egress' | 'secureContext'>,
  limits: ConnectionLimits,
): BaseOptions {
  return {
    clientId: 'posthorn',
    bootstrapBrokers: place.brokers.map(bareBroker),
    autocreateTopics: false,
    connectTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    retries: 3,
    retryDelay: 500,
    context: limits,
    ...(isSecure(place) && {
      tls: { secureContext: secureContext(), lookup: vettedLookup(egress) } as NonNullable<
        BaseOptions['tls']
      >,
    }),
    ...signIn(place),
  };
}
