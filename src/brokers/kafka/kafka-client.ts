import './guard-connections.ts';
import { type BaseOptions, saslScramSha } from '@platformatic/kafka';
import { bareBroker } from '../../domain/config/destination.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { NetworkContext } from '../module/broker-module.ts';
import { vettedLookup } from '../module/vetted-lookup.ts';
import type { ConnectionLimits } from './guard-connections.ts';

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

/** The settings that consumers and producers have in common: where the brokers are, TLS, sign-in and limits of time. */
interface KafkaPlace {
  brokers: string[];
  auth: { type: string; hash: string; username: string; password: string; tls: boolean } | null;
}

/** The broker chooses how often the password is hashed, on threads that all share. Kafka itself chooses 16,384 at most. */
const MAX_ITERATIONS = 100_000;

type Sasl = NonNullable<BaseOptions['sasl']>;
type Crypto = typeof saslScramSha.defaultCrypto;

const crypto: Crypto = {
  ...saslScramSha.defaultCrypto,
  hi: async (definition, password, salt, iterations) => {
    // Also not a number.
    if (!(iterations <= MAX_ITERATIONS))
      throw new BrokerError(`The broker wants more than ${MAX_ITERATIONS} iterations of SCRAM.`, {
        code: 'sign_in_refused',
      });
    return saslScramSha.hi(definition, password, salt, iterations);
  },
};

function signIn({ auth }: KafkaPlace): { sasl?: Sasl } {
  if (auth === null || auth.type === '') return {};
  const { username, password } = auth;
  if (auth.type === 'plain') return { sasl: { mechanism: 'PLAIN', username, password } };
  const algorithm = auth.hash === 'SHA256' ? 'SHA-256' : 'SHA-512';
  const authenticate: Sasl['authenticate'] = (...[, connection, ask, , , , done]) =>
    saslScramSha.authenticate(ask, connection, algorithm, username, password, crypto, done);
  return { sasl: { mechanism: `SCRAM-${algorithm}`, username, password, authenticate } };
}
