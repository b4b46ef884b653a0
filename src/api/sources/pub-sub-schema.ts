import type { Static } from 'typebox';
import type { SourcePubSub } from '../../domain/config/source.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { AnyJson } from '../http/payload-json.ts';

/**
 * Broker settings of a source. Every member is optional in the schema. The code checks the members that a
 * type requires.
 */
const name = () => Type.Optional(Text(1024));

const endpoint = () =>
  Type.Optional(Text(2048, 'Another server with the same protocol, as an http or https URL.'));

const Sqs = Type.Object({
  queue_name: name(),
  access_key_id: name(),
  secret_key: name(),
  default_region: name(),
  endpoint: endpoint(),
});

const ServiceAccount = Type.Unsafe<unknown>({
  description: 'The key file: base64, or an array of byte values.',
  anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }],
});
const Google = Type.Object({
  project_id: name(),
  subscription_id: name(),
  service_account: Type.Optional(ServiceAccount),
  endpoint: endpoint(),
});

const KafkaAuth = Type.Object({
  type: Type.Optional(oneOf(['plain', 'scram', ''])),
  hash: Type.Optional(oneOf(['SHA256', 'SHA512', ''], 'For scram.')),
  username: name(),
  password: name(),
  tls: Type.Optional(Type.Boolean()),
});
const Kafka = Type.Object({
  brokers: Type.Optional(Type.Array(Text(512), { maxItems: 100, description: 'Each as host:port.' })),
  consumer_group_id: name(),
  topic_name: name(),
  auth: Type.Optional(KafkaAuth),
});

const Amqp = Type.Object({
  schema: Type.Optional(oneOf(['amqp', 'amqps', ''])),
  host: name(),
  port: Type.Optional(Text(5)),
  queue: name(),
  vhost: name(),
  deadLetterExchange: name(),
  auth: Type.Optional(Type.Object({ user: name(), password: name() })),
  bindExchange: Type.Optional(Type.Object({ exchange: name(), routingKey: name() })),
});

export const PubSubInput = Type.Object(
  {
    type: Type.Optional(oneOf(['sqs', 'google', 'kafka', 'amqp', ''])),
    workers: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100, description: 'Consumers per node; 1 by default.' }),
    ),
    sqs: Type.Optional(Sqs),
    google: Type.Optional(Google),
    kafka: Type.Optional(Kafka),
    amqp: Type.Optional(Amqp),
  },
  { description: 'See [Brokers](brokers.md).' },
);
export type PubSubInput = Static<typeof PubSubInput>;

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const NullableText = nullable(Type.String());

export const PubSub = Type.Object({
  type: oneOf(['sqs', 'google', 'kafka', 'amqp', '']),
  workers: Type.Integer(),
  sqs: nullable(Type.Required(Sqs)),
  google: nullable(
    Type.Object({
      project_id: Type.String(),
      subscription_id: Type.String(),
      service_account: AnyJson('base64; an array of integers if payloads are requested as bytes.'),
      endpoint: Type.String(),
    }),
  ),
  kafka: nullable(
    Type.Object({
      brokers: Type.Array(Type.String()),
      consumer_group_id: Type.String(),
      topic_name: Type.String(),
      auth: nullable(Type.Required(KafkaAuth)),
    }),
  ),
  amqp: nullable(
    Type.Object({
      schema: Type.String(),
      host: Type.String(),
      port: Type.String(),
      queue: Type.String(),
      vhost: NullableText,
      deadLetterExchange: NullableText,
      auth: nullable(Type.Object({ user: Type.String(), password: Type.String() })),
      bindedExchange: NullableText,
      routingKey: Type.String(),
    }),
  ),
});

const NONE = { sqs: null, google: null, kafka: null, amqp: null };

export function toPubSub(settings: SourcePubSub | null): Static<typeof PubSub> {
  if (settings === null) return { type: '', workers: 0, ...NONE };
  const shown = { ...NONE, ...settings } as Static<typeof PubSub>;
  if (settings.type !== 'google') return shown;
  const { service_account: base64 } = settings.google;
  const service_account = new RawJson(JSON.stringify(base64), Buffer.from(base64, 'base64'));
  return { ...shown, google: { ...settings.google, service_account } };
}
