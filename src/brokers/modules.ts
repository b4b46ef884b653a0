import type { DestinationKind } from '../domain/config/destination.ts';
import { type BrokerSettings, NO_BROKER_SETTINGS } from '../domain/config/source.ts';
import type { Logger } from '../platform/logger.ts';
import type { SourceRow } from '../store/config/sources.ts';
import { BrokerError, reasonOf } from './module/broker-error.ts';
import type { BrokerKind, BrokerModule, ConnectContext, ConsumerContext } from './module/broker-module.ts';
import type { DestinationModule } from './module/producer.ts';

/** The kinds of broker. The library of a kind is loaded when a source or an endpoint first needs it. */
const sources: { [Kind in BrokerKind]: () => Promise<BrokerModule<Kind>> } = {
  kafka: async () => (await import('./kafka/kafka.ts')).kafka,
  google: async () => (await import('./google/google.ts')).google,
  amqp: async () => (await import('./amqp/amqp.ts')).amqp,
  sqs: async () => (await import('./sqs/sqs.ts')).sqs,
  postgres: async () => (await import('./postgres/postgres.ts')).postgres,
  schedule: async () => (await import('./schedule/schedule.ts')).schedule,
};

const destinations: { [Kind in DestinationKind]: () => Promise<DestinationModule<Kind>> } = {
  kafka: async () => (await import('./kafka/kafka-producer.ts')).kafkaDestination,
  google: async () => (await import('./google/google-producer.ts')).googleDestination,
  sqs: async () => (await import('./sqs/sqs-producer.ts')).sqsDestination,
  s3: async () => (await import('./s3/s3-producer.ts')).s3Destination,
  amqp: async () => (await import('./amqp/amqp-producer.ts')).amqpDestination,
};

export const destinationModule = async (kind: DestinationKind): Promise<DestinationModule> =>
  (await destinations[kind]()) as DestinationModule;

/** The settings of a broker source. Null: the source has another type, or no settings. */
export function brokerSettings({ type, secret }: SourceRow): BrokerSettings | null {
  const { pub_sub, db_change_stream: postgres, schedule = null } = secret.reveal();
  if (type === 'schedule') return schedule && { type, schedule };
  if (type === 'db_change_stream') return postgres && { type: 'postgres', postgres };
  return type === 'pub_sub' ? pub_sub : null;
}

/** Undefined: the source is none of a broker. */
export function brokerKind(source: SourceRow): BrokerKind | undefined {
  if (source.type === 'schedule') return source.type;
  return source.type === 'db_change_stream' ? 'postgres' : brokerSettings(source)?.type;
}

export const consume = (settings: BrokerSettings, context: ConsumerContext): Promise<void> =>
  withModule(settings, (module) => module.consume(settings, context));

export const testSource = (settings: BrokerSettings, context: ConnectContext): Promise<void> =>
  withModule(settings, (module) => module.test(settings, context));

const TEST_LIMIT_MS = 10_000;

/** Null: the broker can be used with these settings. Else why it cannot. */
export async function testConnection(
  source: SourceRow,
  deps: { connect: Omit<ConnectContext, 'signal' | 'log'>; log: Logger },
): Promise<string | null> {
  const settings = brokerSettings(source);
  if (settings === null) return NO_BROKER_SETTINGS;
  const signal = AbortSignal.timeout(TEST_LIMIT_MS);
  try {
    await testSource(settings, { ...deps.connect, signal, log: deps.log });
    return null;
  } catch (error) {
    if (signal.aborted) return `The broker did not answer within ${TEST_LIMIT_MS / 1000} s.`;
    if (!(error instanceof BrokerError))
      deps.log.warn({ err: error, source: source.id }, 'a test of a broker failed');
    return reasonOf(error);
  }
}

async function withModule(
  { type }: BrokerSettings,
  work: (module: BrokerModule) => Promise<void>,
): Promise<void> {
  const module = (await sources[type]()) as BrokerModule;
  await work(module).catch((error: unknown) => Promise.reject(module.worded(error)));
}
