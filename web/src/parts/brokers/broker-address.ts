import type { Broker, Endpoint } from 'posthorn-client';

/** The kinds of brokers, by the names that people know. */
export const BROKER_NAMES: Record<Broker['type'], string> = {
  kafka: 'Kafka',
  amqp: 'RabbitMQ, AMQP',
  sqs: 'Amazon SQS',
  google: 'Google Pub/Sub',
  s3: 'Amazon S3',
};

/** Where the deliveries of an endpoint go, in one line. Of a broker that the reader may not see it has the kind alone. */
export function addressOf({ url, broker }: Pick<Endpoint, 'url' | 'broker'>): string {
  if (broker === null) return url;
  const { kafka, amqp, sqs, google, s3 } = broker;
  const to = [
    ...(kafka ? [kafka.topic, kafka.brokers.join(', ')] : []),
    ...(amqp
      ? [[amqp.exchange, amqp.routing_key].filter(Boolean).join(' / '), `${amqp.host}:${amqp.port}`]
      : []),
    ...(sqs ? [sqs.queue_name, sqs.endpoint || sqs.default_region] : []),
    ...(google ? [google.topic_id, google.endpoint || google.project_id] : []),
    ...(s3 ? [[s3.bucket, s3.prefix].filter(Boolean).join('/'), s3.endpoint || s3.default_region] : []),
  ];
  return [BROKER_NAMES[broker.type], ...to.filter((part) => part !== '')].join(' · ');
}
