import type { BaseOptions } from '@platformatic/kafka';
import type { NetworkContext } from '../module/broker-module.ts';
import { vettedLookup } from '../module/vetted-lookup.ts';
import './limit-answers.ts';

/** The settings that consumers and producers have in common: where the brokers are, TLS, sign-in and limits of time. */
export interface KafkaPlace {
  brokers: string[];
  auth: { type: string; hash: string; username: string; password: string; tls: boolean } | null;
}

const CONNECT_MS = 10_000;
const REQUEST_MS = 20_000;

export const isSecure = ({ auth }: KafkaPlace): boolean => auth?.tls === true;

export function clientOptions(
  place: KafkaPlace,
  { egress, secureContext }: Pick<NetworkContext, 'egress' | 'secureContext'>,
): BaseOptions {
  return {
    clientId: 'posthorn',
    bootstrapBrokers: place.brokers,
    autocreateTopics: false,
    connectTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    retries: 3,
    retryDelay: 500,
    ...(isSecure(place) && {
      tls: { secureContext: secureContext(), lookup: vettedLookup(egress) } as NonNullable<
        BaseOptions['tls']
      >,
    }),
    ...saslOf(place),
  };
}

function saslOf({ auth }: KafkaPlace): Pick<BaseOptions, 'sasl'> {
  if (auth === null || auth.type === '') return {};
  const { username, password } = auth;
  if (auth.type === 'plain') return { sasl: { mechanism: 'PLAIN', username, password } };
  const mechanism = auth.hash === 'SHA256' ? 'SCRAM-SHA-256' : 'SCRAM-SHA-512';
  return { sasl: { mechanism, username, password } };
}
