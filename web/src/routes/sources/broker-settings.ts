import type { PubSubInput, Source, UpdateSource } from 'posthorn-client';
import { type BrokerFieldsKind, fieldsFor } from '../../../../src/domain/brokers/broker-fields.ts';
import { BROKER_NAMES } from '../../parts/brokers/broker-address.ts';
import type { Settings } from '../../parts/brokers/settings.ts';

interface Kind {
  name: string;
  /** The settings to begin with, as JSON. Absent: its fields are described (`fieldsFor`). */
  settings?: object;
}

/** The kinds of brokers, and schedules. */
export const BROKERS: Readonly<Record<string, Kind>> = {
  kafka: { name: BROKER_NAMES.kafka },
  amqp: { name: BROKER_NAMES.amqp },
  sqs: { name: BROKER_NAMES.sqs },
  google: { name: BROKER_NAMES.google },
  postgres: {
    name: 'Changes of a PostgreSQL database',
    settings: {
      connection_url: 'postgres://posthorn:secret@db.example.com:5432/shop?sslmode=verify-full',
      tables: ['public.orders'],
      snapshot: false,
    },
  },
  schedule: {
    name: 'Schedule',
    settings: {
      cron: '0 9 * * mon-fri',
      time_zone: 'UTC',
      event_type: 'report.due',
      data: { report: 'daily' },
    },
  },
};

/** The part of a source that says where its messages come from. */
export function brokerSource(kind: string, settings: object, stored?: Source): UpdateSource {
  if (kind === 'schedule') return { type: kind, schedule: settings };
  if (kind === 'postgres') return { type: 'db_change_stream', db_change_stream: settings };
  const workers = stored?.pub_sub.workers ?? 1;
  return { type: 'pub_sub', pub_sub: { type: kind, workers, [kind]: settings } as PubSubInput };
}

/** The described fields of a kind. Undefined: its settings are JSON. */
export function describedSettings(kind: string, source: Source | undefined): Settings | undefined {
  if (BROKERS[kind] === undefined || BROKERS[kind].settings !== undefined) return undefined;
  return {
    prefix: `pub_sub.${kind}`,
    form: fieldsFor(kind as BrokerFieldsKind, 'source'),
    stored: source && settingsOf(source),
  };
}

/** The stored settings, in the form that a request has. */
export function settingsOf({ type, pub_sub, db_change_stream, schedule }: Source): object {
  if (type === 'schedule') return schedule ?? {};
  if (type === 'db_change_stream') return db_change_stream ?? {};
  const { bindedExchange: exchange, ...amqp } = pub_sub.amqp ?? {};
  const { routingKey, ...rest } = { routingKey: '', ...amqp };
  const settings = {
    ...pub_sub.sqs,
    ...pub_sub.google,
    ...pub_sub.kafka,
    ...rest,
    ...(exchange && { bindExchange: { exchange, routingKey } }),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null && value !== ''));
}
