import type { PubSubInput, Source, UpdateSource } from 'posthorn-client';

interface Kind {
  name: string;
  /** The settings to begin with. */
  settings: object;
}

/** The kinds of brokers, and schedules. */
export const BROKERS: Readonly<Record<string, Kind>> = {
  kafka: {
    name: 'Kafka',
    settings: {
      brokers: ['kafka.example.com:9093'],
      topic_name: 'orders',
      consumer_group_id: 'posthorn',
      auth: { type: 'scram', hash: 'SHA512', username: 'posthorn', password: '', tls: true },
    },
  },
  amqp: {
    name: 'RabbitMQ, AMQP',
    settings: {
      schema: 'amqps',
      host: 'rabbitmq.example.com',
      port: '5671',
      vhost: 'orders',
      queue: 'posthorn',
      bindExchange: { exchange: 'orders', routingKey: 'order.*' },
      auth: { user: 'posthorn', password: '' },
    },
  },
  sqs: {
    name: 'Amazon SQS',
    settings: { queue_name: 'orders', default_region: 'eu-west-1', access_key_id: '', secret_key: '' },
  },
  google: {
    name: 'Google Pub/Sub',
    settings: { project_id: 'my-project', subscription_id: 'orders', service_account: '' },
  },
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
