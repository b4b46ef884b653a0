import type { DestinationKind } from '../domain/config/destination.ts';
import type { DestinationModule } from './module/producer.ts';

/** The kinds of broker that deliveries go to. The library of a kind is loaded when an endpoint first needs it. */
const modules = {
  kafka: async () => (await import('./kafka/kafka-producer.ts')).kafkaDestination,
  google: async () => (await import('./google/google-producer.ts')).googleDestination,
  sqs: async () => (await import('./sqs/sqs-producer.ts')).sqsDestination,
  s3: async () => (await import('./s3/s3-producer.ts')).s3Destination,
  amqp: async () => (await import('./amqp/amqp-producer.ts')).amqpDestination,
} satisfies Record<DestinationKind, () => Promise<DestinationModule>>;

export const destinationModule = (kind: DestinationKind): Promise<DestinationModule> => modules[kind]();
