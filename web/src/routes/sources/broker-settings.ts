import type { CreateSource, PubSubInput } from 'posthorn-client';

interface Kind {
  name: string;
  /** The settings to begin with. */
  settings: object;
}

/** The kinds of brokers. */
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
};

/** The part of a source that says where its messages come from. */
export function brokerSource(kind: string, settings: object): Omit<CreateSource, 'name'> {
  return kind === 'postgres'
    ? { type: 'db_change_stream', db_change_stream: settings }
    : { type: 'pub_sub', pub_sub: { type: kind, workers: 1, [kind]: settings } as PubSubInput };
}
