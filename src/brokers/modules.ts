import type { SourceRow } from '../store/config/sources.ts';
import type { BrokerModule } from './module/broker-module.ts';

/** The kinds of broker. The library of a kind is loaded when a source first needs it. */
const modules = {
  kafka: async () => (await import('./kafka/kafka.ts')).kafka,
} satisfies Partial<Record<BrokerKind, () => Promise<BrokerModule>>>;

export type BrokerKind = 'kafka' | 'sqs' | 'amqp' | 'google' | 'postgres';

/** Undefined: the source is none of a broker. */
export function brokerKind(source: SourceRow): BrokerKind | undefined {
  if (source.type === 'db_change_stream') return 'postgres';
  return source.type === 'pub_sub' ? source.secret.reveal().pub_sub?.type : undefined;
}

/** Undefined: this version does not have the kind. */
export async function loadModule(kind: BrokerKind): Promise<BrokerModule | undefined> {
  return (modules as Partial<Record<BrokerKind, () => Promise<BrokerModule>>>)[kind]?.();
}
