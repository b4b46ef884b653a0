import type { BrokerSettings } from '../domain/config/source.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { BrokerModule } from './module/broker-module.ts';

/** The kinds of broker. The library of a kind is loaded when a source first needs it. */
const modules = {
  kafka: async () => (await import('./kafka/kafka.ts')).kafka,
  google: async () => (await import('./google/google.ts')).google,
  amqp: async () => (await import('./amqp/amqp.ts')).amqp,
  sqs: async () => (await import('./sqs/sqs.ts')).sqs,
  postgres: async () => (await import('./postgres/postgres.ts')).postgres,
  schedule: async () => (await import('./schedule/schedule.ts')).schedule,
} satisfies Record<BrokerKind, () => Promise<BrokerModule>>;

export type BrokerKind = BrokerSettings['type'];

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

export function loadModule(kind: BrokerKind): Promise<BrokerModule> {
  return modules[kind]();
}
