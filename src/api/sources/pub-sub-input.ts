import type {
  AmqpSettings,
  GoogleSettings,
  KafkaSettings,
  SourcePubSub,
  SqsSettings,
} from '../../domain/config/source.ts';
import type { Problems } from '../http/problems.ts';
import type { PubSubInput } from './pub-sub-schema.ts';

/** Broker settings, checked to be complete and of the right types. No broker is contacted. */
export function readPubSub(given: PubSubInput, problems: Problems): SourcePubSub | null {
  if (given.workers === 0) problems.add('pub_sub.workers', 'must be at least 1');
  const workers = given.workers ?? 1;
  const type = given.type || undefined;
  if (type === undefined) {
    problems.add('pub_sub.type', 'is required');
    return null;
  }
  if (given[type] === undefined) {
    problems.add(`pub_sub.${type}`, `is required when pub_sub.type is ${type}`);
    return null;
  }
  switch (type) {
    case 'sqs':
      return { type, workers, sqs: readSqs(given.sqs ?? {}, problems) };
    case 'google':
      return { type, workers, google: readGoogle(given.google ?? {}, problems) };
    case 'kafka':
      return { type, workers, kafka: readKafka(given.kafka ?? {}, problems) };
    case 'amqp':
      return { type, workers, amqp: readAmqp(given.amqp ?? {}, problems) };
  }
}

function readSqs(given: NonNullable<PubSubInput['sqs']>, problems: Problems): SqsSettings {
  const text = (field: 'queue_name' | 'access_key_id' | 'secret_key' | 'default_region') =>
    problems.text(`pub_sub.sqs.${field}`, given[field]);
  return {
    queue_name: text('queue_name'),
    access_key_id: text('access_key_id'),
    secret_key: text('secret_key'),
    default_region: text('default_region'),
    endpoint: given.endpoint ?? '',
  };
}

function readGoogle(given: NonNullable<PubSubInput['google']>, problems: Problems): GoogleSettings {
  return {
    project_id: problems.text('pub_sub.google.project_id', given.project_id),
    subscription_id: problems.text('pub_sub.google.subscription_id', given.subscription_id),
    service_account: readBytes('pub_sub.google.service_account', given.service_account, problems),
    endpoint: given.endpoint ?? '',
  };
}

const MAX_BYTES = 65_536;

/** Bytes, given as base64 or as an array of numbers, as base64. */
function readBytes(field: string, given: unknown, problems: Problems): string {
  if (given === undefined || given === '' || (Array.isArray(given) && given.length === 0)) {
    problems.add(field, 'is required');
    return '';
  }
  const bytes = typeof given === 'string' ? decodeBase64(given) : ofNumbers(given);
  if (bytes === null || bytes.length > MAX_BYTES) {
    problems.add(field, `must be base64 or an array of byte values, ${MAX_BYTES} bytes at most`);
    return '';
  }
  return bytes.toString('base64');
}

function decodeBase64(text: string): Buffer | null {
  const compact = text.replace(/\s+/g, '');
  return /^[\w+/-]+={0,2}$/.test(compact) && compact.replace(/=+$/, '').length % 4 !== 1
    ? Buffer.from(compact, 'base64')
    : null;
}

function ofNumbers(given: unknown): Buffer | null {
  if (!Array.isArray(given)) return null;
  const isByte = (value: unknown) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256;
  return given.every(isByte) ? Buffer.from(given as number[]) : null;
}

function readKafka(given: NonNullable<PubSubInput['kafka']>, problems: Problems): KafkaSettings {
  const brokers = given.brokers ?? [];
  if (brokers.length === 0) problems.add('pub_sub.kafka.brokers', 'must name at least one broker');
  brokers.forEach((broker, index) => {
    if (!/^[^\s/]+:\d{1,5}$/.test(broker))
      problems.add(`pub_sub.kafka.brokers.${index}`, 'must be host:port');
  });
  return {
    brokers,
    consumer_group_id: given.consumer_group_id ?? '',
    topic_name: problems.text('pub_sub.kafka.topic_name', given.topic_name),
    auth: readKafkaAuth(given.auth, problems),
  };
}

function readKafkaAuth(
  given: NonNullable<PubSubInput['kafka']>['auth'],
  problems: Problems,
): KafkaSettings['auth'] {
  if (given === undefined) return null;
  const { type = '', hash = '', username = '', password = '', tls = false } = given;
  if (type !== '') {
    problems.text('pub_sub.kafka.auth.username', username);
    problems.text('pub_sub.kafka.auth.password', password);
  } else if (username !== '' || password !== '') {
    problems.add('pub_sub.kafka.auth.type', 'must be plain or scram');
  }
  return { type, hash: type === 'scram' ? hash || 'SHA512' : hash, username, password, tls };
}

/** The protocol has no room for more. */
const MAX_AMQP_NAME_BYTES = 255;

function checkAmqpNames(given: NonNullable<PubSubInput['amqp']>, problems: Problems): void {
  const { queue, vhost, deadLetterExchange, bindExchange = {} } = given;
  const names = {
    queue,
    vhost,
    deadLetterExchange,
    'bindExchange.exchange': bindExchange.exchange,
    'bindExchange.routingKey': bindExchange.routingKey,
  };
  for (const [field, name] of Object.entries(names))
    if (Buffer.byteLength(name ?? '') > MAX_AMQP_NAME_BYTES)
      problems.add(`pub_sub.amqp.${field}`, `must have at most ${MAX_AMQP_NAME_BYTES} bytes`);
}

function readAmqp(given: NonNullable<PubSubInput['amqp']>, problems: Problems): AmqpSettings {
  const schema = given.schema || 'amqp';
  const port = given.port || (schema === 'amqps' ? '5671' : '5672');
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)
    problems.add('pub_sub.amqp.port', 'must be a port number from 1 to 65535');
  const { auth, bindExchange } = given;
  checkAmqpNames(given, problems);
  if (bindExchange !== undefined) problems.text('pub_sub.amqp.bindExchange.exchange', bindExchange.exchange);
  if (auth !== undefined) problems.text('pub_sub.amqp.auth.user', auth.user);
  return {
    schema,
    host: problems.text('pub_sub.amqp.host', given.host),
    port,
    queue: problems.text('pub_sub.amqp.queue', given.queue),
    vhost: given.vhost ?? null,
    deadLetterExchange: given.deadLetterExchange || null,
    auth: auth === undefined ? null : { user: auth.user ?? '', password: auth.password ?? '' },
    bindedExchange: bindExchange?.exchange ?? null,
    routingKey: bindExchange?.routingKey ?? '',
  };
}
