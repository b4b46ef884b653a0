import type { Secret } from '../../platform/secret.ts';
import type { BrokerSettingsOf } from '../brokers/broker-schema.ts';

export const destinationKinds = ['kafka', 'amqp', 'sqs', 'google', 's3'] as const;
export type DestinationKind = (typeof destinationKinds)[number];

/** The broker that an endpoint's deliveries go to. Its settings are sealed together with the other secrets of the endpoint. */
export type Destination = {
  [Kind in DestinationKind]: { type: Kind } & Record<Kind, BrokerSettingsOf<Kind, 'destination'>>;
}[DestinationKind];
export type S3Destination = BrokerSettingsOf<'s3', 'destination'>;

/** One of Kafka as host:port. Older settings may have a name and password before it. */
export const bareBroker = (place: string): string => place.slice(place.lastIndexOf('@') + 1);

/** The address for people and records. It has no credential. */
export function destinationUrl(destination: Destination): string {
  switch (destination.type) {
    case 'kafka':
      return `kafka://${destination.kafka.brokers.map(bareBroker).join(',')}/${part(destination.kafka.topic)}`;
    case 'amqp': {
      const { schema, host, port, vhost, exchange, routing_key } = destination.amqp;
      const path = [vhost ?? '/', exchange, routing_key].map(part).join('/');
      return `${schema}://${host.includes(':') ? `[${host}]` : host}:${port}/${path}`;
    }
    case 'sqs': {
      const { endpoint, default_region, queue_name } = destination.sqs;
      return `sqs://${hostIn(endpoint) || default_region}/${part(queue_name)}`;
    }
    case 's3': {
      const { endpoint, default_region, bucket, prefix } = destination.s3;
      const path = [bucket, ...prefix.split('/')].map(part).join('/');
      return `s3://${placeIn(endpoint) || default_region}/${path}`;
    }
    case 'google': {
      const { endpoint, project_id, topic_id } = destination.google;
      return `pubsub://${hostIn(endpoint) || 'pubsub.googleapis.com'}/projects/${part(project_id)}/topics/${part(topic_id)}`;
    }
  }
}

/** The parts of an endpoint that say where its deliveries go. */
export interface Addressed {
  delivery: string;
  url: string;
  secret: Secret<{ broker?: Destination | null }>;
}

/** The address of an endpoint for people: its URL, or that of its broker. Empty: it has none, or none that can be read. */
export function addressOf({ delivery, url, secret }: Addressed): string {
  if (delivery !== 'broker') return url;
  const broker = secret.revealOrNull()?.broker ?? null;
  return broker === null ? '' : destinationUrl(broker);
}

/** Whether the way to the broker is encrypted. */
export function usesTls(destination: Destination): boolean {
  switch (destination.type) {
    case 'kafka':
      return destination.kafka.auth?.tls === true;
    case 'amqp':
      return destination.amqp.schema === 'amqps';
    case 'sqs':
      return !/^http:/i.test(destination.sqs.endpoint);
    case 's3':
      return !/^http:/i.test(destination.s3.endpoint);
    case 'google':
      return !/^http:/i.test(destination.google.endpoint);
  }
}

const part = (name: string): string => encodeURIComponent(name.toWellFormed());
const hostIn = (endpoint: string): string => URL.parse(endpoint)?.host ?? '';

/** With its path, to which that of an object is added. */
function placeIn(endpoint: string): string {
  const url = URL.parse(endpoint);
  return url === null ? '' : `${url.host}${url.pathname.replace(/\/$/, '')}`;
}
