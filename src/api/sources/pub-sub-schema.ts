import type { Static } from 'typebox';
import { brokerOutput } from '../../domain/brokers/broker-schema.ts';
import type { SourcePubSub } from '../../domain/config/source.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { oneOf, Type } from '../../platform/type.ts';
import { AnyJson } from '../http/fields.ts';

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const NullableText = nullable(Type.String());

export const PubSub = Type.Object({
  type: oneOf(['sqs', 'google', 'kafka', 'amqp', '']),
  workers: Type.Integer(),
  sqs: nullable(brokerOutput('sqs', 'source')),
  google: nullable(
    Type.Object({
      ...brokerOutput('google', 'source').properties,
      service_account: AnyJson('base64; an array of integers if payloads are requested as bytes.'),
    }),
  ),
  kafka: nullable(brokerOutput('kafka', 'source')),
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
  return { ...shown, google: { ...settings.google, service_account } } as Static<typeof PubSub>;
}
