/**
 * The settings of each kind of broker, described once for sources and endpoints. Schemas, checks and forms follow from
 * the description. A name with a dot is a field of a group, which may be left out as a whole.
 */
export interface BrokerField {
  readonly label: string;
  readonly kind: 'text' | 'secret' | 'choice' | 'flag' | 'list' | 'bytes';
  readonly hint?: string;
  /** The values of a choice. */
  readonly of?: readonly string[];
  readonly required?: true;
  /** Required, and allowed, unless this other field is given. */
  readonly insteadOf?: string;
  /** A field that is not given is not stored either. */
  readonly isLeftOut?: true;
  /** A text that is not given is null, other than an empty one. */
  readonly isNullable?: true;
  /** The value of a text that is not given. */
  readonly usual?: string;
  readonly maxChars?: number;
  /** The protocol has no room for more. */
  readonly maxBytes?: number;
  readonly rule?: { readonly pattern: RegExp; readonly says: string };
  /** Absent: both have it. */
  readonly only?: 'source' | 'destination';
  /** Another name that requests may use for it. */
  readonly alias?: string;
}

export type BrokerFields = Readonly<Record<string, BrokerField>>;

const text = (label: string, more: Partial<BrokerField> = {}): BrokerField => ({
  label,
  kind: 'text',
  ...more,
});
const secret = (label: string, more: Partial<BrokerField> = {}): BrokerField => ({
  label,
  kind: 'secret',
  ...more,
});
const required = { required: true } as const;
/** Unless the credentials are those of the machine. */
const ownKey = { insteadOf: 'credentials' } as const;
const ofMachine: BrokerField = {
  label: 'Credentials',
  kind: 'choice',
  of: ['workload'],
  hint: 'workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key.',
  isLeftOut: true,
};
const toSend = { only: 'destination' } as const;
const toTake = { only: 'source' } as const;

/** The protocol has no room for longer names. */
const amqpName = { maxBytes: 255 } as const;

const otherServer = text('Endpoint', {
  hint: 'Another server with the same protocol, as an http or https URL.',
  maxChars: 2048,
});

/** It is a part of the name of a server that gets the credentials, so it is one label. */
const region = text('Region', {
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
      rule: { pattern: /^[^\s/]+:\d{1,5}$/, says: 'must be host:port' },
    },
    topic: text('Topic', { ...required, ...toSend, alias: 'topic_name' }),
    topic_name: text('Topic', { ...required, ...toTake }),
    consumer_group_id: text('Consumer group', toTake),
    'auth.type': { label: 'Authentication', kind: 'choice', of: ['plain', 'scram'] },
    'auth.hash': { label: 'Hash', kind: 'choice', of: ['SHA256', 'SHA512'], hint: 'For scram.' },
    'auth.username': text('User name'),
    'auth.password': secret('Password'),
    'auth.tls': { label: 'TLS', kind: 'flag' },
  },
  amqp: {
    schema: { label: 'Protocol', kind: 'choice', of: ['amqp', 'amqps'], usual: 'amqp' },
    host: text('Host', required),
    port: text('Port', {
      hint: 'Default: 5672, with TLS 5671.',
      maxChars: 5,
      rule: {
        pattern: /^(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/,
        says: 'must be a port number from 1 to 65535',
      },
    }),
    queue: text('Queue', { ...required, ...toTake, ...amqpName }),
    vhost: text('Virtual host', { isNullable: true, ...amqpName }),
    deadLetterExchange: text('Dead letter exchange', { ...toTake, ...amqpName }),
    'auth.user': text('User name', required),
    'auth.password': secret('Password'),
    'bindExchange.exchange': text('Exchange', { ...required, ...toTake, ...amqpName }),
    'bindExchange.routingKey': text('Routing key', { ...toTake, ...amqpName }),
    exchange: text('Exchange', {
      hint: 'Empty: the default exchange. The routing key is the name of the queue then.',
      ...toSend,
      ...amqpName,
    }),
    routing_key: text('Routing key', {
      hint: 'Empty: the event type.',
      ...toSend,
      ...amqpName,
    }),
  },
  sqs: {
    queue_name: text('Queue', required),
    credentials: ofMachine,
    access_key_id: text('Access key id', ownKey),
    secret_key: secret('Secret key', ownKey),
    default_region: region,
    endpoint: otherServer,
  },
  google: {
    project_id: text('Google project', required),
    subscription_id: text('Subscription', { ...required, ...toTake }),
    topic_id: text('Topic', { ...required, ...toSend }),
    credentials: ofMachine,
    service_account: {
      label: 'Service account',
      kind: 'bytes',
      hint: 'The key file: base64, or an array of byte values.',
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
    credentials: ofMachine,
    access_key_id: text('Access key id', ownKey),
    secret_key: secret('Secret key', ownKey),
    default_region: region,
    endpoint: otherServer,
  },
} as const satisfies Record<string, BrokerFields>;

export type BrokerFieldsKind = keyof typeof brokerFields;

/** The fields of one kind for one use, by name. */
export const fieldsFor = (
  kind: BrokerFieldsKind,
  use: 'source' | 'destination',
): [name: string, field: BrokerField][] =>
  Object.entries<BrokerField>(brokerFields[kind]).filter(([, { only = use }]) => only === use);

/** Names of the fields of any kind that hold a credential. */
export const isSecretField = ({ kind }: BrokerField): boolean => kind === 'secret' || kind === 'bytes';
