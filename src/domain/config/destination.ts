import type { Secret } from '../../platform/secret.ts';

/**
 * The broker that an endpoint's deliveries go to. The names of fields and credentials are those of sources of the same
 * kind (source.ts). They are sealed together with the other secrets of the endpoint.
 */
export interface KafkaDestination {
  brokers: string[];
  topic: string;
  auth: { type: string; hash: string; username: string; password: string; tls: boolean } | null;
}

export interface AmqpDestination {
  schema: string;
  host: string;
  port: string;
  vhost: string | null;
  auth: { user: string; password: string } | null;
  /** Empty: the default exchange, which routes to the queue that the routing key names. */
  exchange: string;
  /** Empty: the event type. */
  routing_key: string;
}

export interface SqsDestination {
  /** The credentials of the machine, instead of the fields. */
  credentials?: 'workload';
  queue_name: string;
  access_key_id: string;
  secret_key: string;
  default_region: string;
  /** Another server that speaks the protocol. Empty: the server of the region. */
  endpoint: string;
}

export interface GoogleDestination {
  /** The credentials of the machine, instead of the fields. */
  credentials?: 'workload';
  project_id: string;
  topic_id: string;
  /** base64 of the key file. */
  service_account: string;
  endpoint: string;
}

export interface S3Destination {
  /** The credentials of the machine, instead of the fields. */
  credentials?: 'workload';
  bucket: string;
  /** The names of all objects begin with it. */
  prefix: string;
  access_key_id: string;
  secret_key: string;
  default_region: string;
  /** Another server that speaks the protocol. Empty: the server of the region. */
  endpoint: string;
}

export type Destination =
  | { type: 'kafka'; kafka: KafkaDestination }
  | { type: 'amqp'; amqp: AmqpDestination }
  | { type: 'sqs'; sqs: SqsDestination }
  | { type: 'google'; google: GoogleDestination }
  | { type: 's3'; s3: S3Destination };

export const destinationKinds = ['kafka', 'amqp', 'sqs', 'google', 's3'] as const;
export type DestinationKind = (typeof destinationKinds)[number];

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
