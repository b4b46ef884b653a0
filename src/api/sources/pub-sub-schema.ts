import type { Static } from 'typebox';
import { brokerOutput } from '../../domain/brokers/broker-schema.ts';
import type { SourcePubSub } from '../../domain/config/source.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { AnyJson } from '../http/fields.ts';

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
      vhost: nullable(Type.String()),
      deadLetterExchange: nullable(Type.String()),
      auth: nullable(Type.Object({ user: Type.String(), password: Type.String() })),
      bindedExchange: nullable(Type.String()),
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
