import type { BrokerField, BrokerFields, BrokerUse } from './broker-field.ts';

/**
 * The settings of each kind of broker, described once for sources and endpoints. Schemas, checks, defaults and forms follow
 * from the description. A name with a dot is a field of a group, which may be left out as a whole.
 */
const text = <const More extends Partial<BrokerField>>(label: string, more: More) =>
  ({ label, kind: 'text', ...more }) as const;
const secret = <const More extends Partial<BrokerField>>(label: string, more: More) =>
  ({ label, kind: 'secret', ...more }) as const;
const open = { isOpen: true } as const;
const required = { required: true } as const;
/** Unless the credentials are those of the machine. */
const ownKey = { ...required, when: { field: 'credentials', is: [''] } } as const;
const ofMachine = (cloud: 'aws' | 'google') =>
  ({
    label: 'Credentials',
    kind: 'choice',
    of: ['workload'],
    hint: 'workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key.',
    isLeftOut: true,
    cloud,
  }) as const;
const signedIn = { ...required, when: { field: 'auth.type', is: ['plain', 'scram'] } } as const;
const toSend = { only: 'destination' } as const;
const toTake = { only: 'source' } as const;

/** The protocol has no room for longer names. */
const amqpName = { maxBytes: 255 } as const;

const otherServer = text('Endpoint', {
  ...open,
  hint: 'Another server with the same protocol, as an http or https URL.',
  maxChars: 2048,
  isShown: true,
  // Sources are stored with any text, and their status says it.
  rule: { pattern: /^https?:\/\/[^\s/]/i, says: 'must be an http or https URL', only: 'destination' },
});

/** It is a part of the name of a server that gets the credentials, so it is one label. */
const region = text('Region', {
  ...open,
  ...required,
  rule: { pattern: /^[A-Za-z\d-]{1,63}$/, says: 'must be the name of a region, such as eu-west-1' },
});

export const brokerFields = {
  kafka: {
    brokers: {
      label: 'Brokers',
      kind: 'list',
      hint: 'Each as host:port.',
      required: true,
      maxChars: 512,
      isShown: true,
      rule: { pattern: /^[^\s/]+:\d{1,5}$/, says: 'must be host:port' },
    },
    topic: text('Topic', { ...open, ...required, ...toSend, alias: 'topic_name' }),
    topic_name: text('Topic', { ...open, ...required, ...toTake }),
    consumer_group_id: text('Consumer group', { ...open, ...toTake }),
    'auth.type': { label: 'Authentication', kind: 'choice', of: ['plain', 'scram'], ...open },
    'auth.username': text('User name', signedIn),
    'auth.password': secret('Password', signedIn),
    'auth.hash': {
      label: 'Hash',
      kind: 'choice',
      of: ['SHA256', 'SHA512'],
      usual: 'SHA512',
      ...open,
      when: { field: 'auth.type', is: ['scram'] },
    },
    'auth.tls': { label: 'TLS', kind: 'flag' },
  },
  amqp: {
    schema: { label: 'Protocol', kind: 'choice', of: ['amqp', 'amqps'], usual: 'amqp', ...open },
    host: text('Host', {
      ...open,
      ...required,
      isShown: true,
      // One colon is that of a port. An IPv6 address has two at least.
      rule: {
        pattern: /^(?![^:]*:[^:]*$)[^\s/@?#[\]]+$/,
        says: 'must be a name or an address, without a protocol, a port and brackets',
        only: 'destination',
      },
    }),
    port: text('Port', {
      ...open,
      usual: { by: 'schema', values: { amqp: '5672', amqps: '5671' } },
      maxChars: 5,
      rule: {
        pattern: /^(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/,
        says: 'must be a port number from 1 to 65535',
      },
    }),
    queue: text('Queue', { ...open, ...required, ...toTake, ...amqpName }),
    vhost: text('Virtual host', { hint: 'Default: /.', isNullable: true, ...amqpName }),
    deadLetterExchange: text('Dead letter exchange', { ...toTake, ...amqpName }),
    'auth.user': text('User name', { hint: 'Default: guest, with the password guest.', ...required }),
    'auth.password': secret('Password', {}),
    'bindExchange.exchange': text('Exchange', { ...open, ...required, ...toTake, ...amqpName }),
    'bindExchange.routingKey': text('Routing key', { ...toTake, ...amqpName }),
    exchange: text('Exchange', {
      ...open,
      hint: 'Empty: the default exchange. The routing key is the name of the queue then.',
      ...toSend,
      ...amqpName,
    }),
    routing_key: text('Routing key', {
      ...open,
      hint: 'With an exchange, empty means the event type.',
      required: { field: 'exchange', is: [''] },
      ...toSend,
      ...amqpName,
    }),
  },
  sqs: {
    queue_name: text('Queue', { ...open, ...required }),
    credentials: ofMachine('aws'),
    access_key_id: text('Access key ID', ownKey),
    secret_key: secret('Secret key', ownKey),
    default_region: region,
    endpoint: otherServer,
  },
  google: {
    project_id: text('Google project', { ...open, ...required }),
    subscription_id: text('Subscription', { ...open, ...required, ...toTake }),
    topic_id: text('Topic', { ...open, ...required, ...toSend }),
    credentials: ofMachine('google'),
    service_account: {
      label: 'Service account',
      kind: 'bytes',
      hint: 'The key file as base64.',
      ...ownKey,
    },
    endpoint: otherServer,
  },
  s3: {
    bucket: text('Bucket', {
      ...required,
      maxChars: 63,
      rule: {
        pattern: /^[A-Za-z\d][\w.-]{1,61}[A-Za-z\d]$/,
        says: 'must be the name of a bucket: 3 to 63 letters, digits, dots and hyphens',
      },
    }),
    prefix: text('Prefix', {
      hint: 'The names of all objects begin with it, such as events/.',
      maxBytes: 900,
      rule: {
        pattern: /^(?!\/)(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^\p{Cc}\p{Cs}]+$/u,
        says: 'must not begin with a slash, or have control characters or parts . and ..',
      },
    }),
    credentials: ofMachine('aws'),
    access_key_id: text('Access key ID', ownKey),
    secret_key: secret('Secret key', ownKey),
    default_region: region,
    endpoint: otherServer,
  },
} as const satisfies Record<string, BrokerFields>;

export type BrokerFieldsKind = keyof typeof brokerFields;

/** The fields of one kind for one use, by name. */
export const fieldsFor = (kind: BrokerFieldsKind, use: BrokerUse): BrokerFields =>
  Object.fromEntries(
    Object.entries<BrokerField>(brokerFields[kind])
      .filter(([, { only = use }]) => only === use)
      .map(([name, { rule, ...field }]) => [
        name,
        { ...field, ...(rule !== undefined && (rule.only ?? use) === use && { rule }) },
      ]),
  );
