import type { Static } from 'typebox';
import { credential, mark, open } from '../../platform/json/schema-marks.ts';
import { type Chosen, oneOf, Text, Type } from '../../platform/type.ts';
import { type BrokerSettingsOf, brokerInput } from '../brokers/broker-schema.ts';
import { isHeaderName } from '../http-header.ts';
import { signatureHashes } from './signature-hash.ts';

/**
 * Where events come from. Verifier, broker and database settings contain credentials, which are sealed together and
 * never logged.
 */
export const sourceTypes = ['http', 'rest_api', 'pub_sub', 'db_change_stream', 'schedule'] as const;
export type SourceType = (typeof sourceTypes)[number];

/** The values of `verifier.hmac.encoding`. */
export const signatureEncodings = ['hex', 'base64'] as const;
export type SignatureEncoding = (typeof signatureEncodings)[number];

const header = (description: string) =>
  mark(Text(256, description), {
    secrecy: 'open',
    usual: '',
    check: (name: string) => (name === '' || isHeaderName(name) ? undefined : 'is not a legal header name'),
  });
const required = { isRequired: true, usual: '' } as const;

/** The settings of each way to verify a sender. */
export const verifiers = {
  /** A preset has header, hash and encoding. Without one they are required. */
  hmac: Type.Object({
    header: mark(header('Header with the signature.'), required),
    hash: mark(open(oneOf([...signatureHashes, ''], 'Hash of the signature.')), required),
    secret: mark(credential(Text(4096, 'Secret of the signature.')), required),
    encoding: mark(open(oneOf([...signatureEncodings, ''], 'Encoding of the signature.')), required),
  }),
  basic_auth: Type.Object({
    username: mark(Text(1024, 'Required user name.'), required),
    password: mark(credential(Text(1024, 'Required password.')), required),
  }),
  api_key: Type.Object({
    header_name: header('Required header. Empty: `Authorization`.'),
    header_value: mark(credential(Text(8192, 'Required value of that header.')), required),
  }),
};

export const VerifierInput = Type.Partial(
  Type.Object({
    type: open(
      oneOf(
        ['noop', 'hmac', 'basic_auth', 'api_key', ''],
        'How a sender authenticates itself. Default: `noop`.',
      ),
    ),
    hmac: Type.Partial(verifiers.hmac),
    basic_auth: Type.Partial(verifiers.basic_auth),
    api_key: Type.Partial(verifiers.api_key),
  }),
);
export type VerifierInput = Static<typeof VerifierInput>;

export type SourceVerifier =
  | { type: 'noop' }
  | Chosen<{ [Kind in keyof typeof verifiers]: Record<keyof Static<(typeof verifiers)[Kind]>, string> }>;

export type SqsSettings = BrokerSettingsOf<'sqs', 'source'>;
export type GoogleSettings = BrokerSettingsOf<'google', 'source'>;
export type KafkaSettings = BrokerSettingsOf<'kafka', 'source'>;
/** The binding of a queue is stored as Convoy answers with it. */
export type AmqpSettings = Omit<BrokerSettingsOf<'amqp', 'source'>, 'deadLetterExchange' | 'bindExchange'> & {
  deadLetterExchange: string | null;
  bindedExchange: string | null;
  routingKey: string;
};

export type SourcePubSub = { workers: number } & Chosen<{
  sqs: SqsSettings;
  google: GoogleSettings;
  kafka: KafkaSettings;
  amqp: AmqpSettings;
}>;

/** Every member is optional in the schema. The code checks those that a kind requires, by the same table. */
const settingsOf = (kind: SourcePubSub['type']) =>
  Type.Unsafe<Record<string, unknown>>(brokerInput(kind, 'source'));

export const PubSubInput = Type.Partial(
  Type.Object({
    type: open(oneOf(['sqs', 'google', 'kafka', 'amqp', ''])),
    workers: Type.Integer({ minimum: 0, maximum: 100, description: 'Consumers per node; 1 by default.' }),
    sqs: settingsOf('sqs'),
    google: settingsOf('google'),
    kafka: settingsOf('kafka'),
    amqp: settingsOf('amqp'),
  }),
  { description: 'See [Brokers](brokers.md).' },
);
export type PubSubInput = Static<typeof PubSubInput>;

export const NAME_BYTES = 63;

/** A PostgreSQL database whose changes become events. */
export const ChangeStream = Type.Object({
  connection_url: credential(
    Text(4096, 'postgres://user:password@host:5432/database, with ?sslmode=verify-full for TLS.'),
  ),
  slot_name: open(Text(NAME_BYTES, 'Made if it does not exist. Empty: a name is made up.')),
  publication_name: open(
    Text(NAME_BYTES, 'Made for the tables if it does not exist. Empty: a name is made up.'),
  ),
  tables: open(
    Type.Array(Text(2 * NAME_BYTES + 1), {
      maxItems: 1000,
      description: 'Each as schema.table. Empty: those of the publication.',
    }),
  ),
  snapshot: Type.Boolean({ description: 'The rows that are there become events too.' }),
});
export type ChangeStreamSettings = Static<typeof ChangeStream>;

/** Times at which a source makes an event by itself. */
export const Schedule = Type.Object({
  cron: open(
    Text(256, 'Minute, hour, day of the month, month and day of the week, such as `0 9 * * mon-fri`.'),
  ),
  time_zone: open(Text(64, 'Name in the IANA database, such as `Europe/Berlin`. Default: `UTC`.')),
  event_type: open(Text(256, 'Type of the events.')),
  data: Type.Unknown({
    description: 'Their payload, 65,536 bytes at most. Null: `{"scheduled_at": TIME}`.',
  }),
});
/** `since`: times up to here are not sent, because the schedule was another, or the source was disabled. */
export type ScheduleSettings = Static<typeof Schedule> & { since: string };

/** The settings of a source that hold credentials, in requests. They are stored sealed together. */
export const sourceCredentials = Type.Partial(
  Type.Object({
    pub_sub: PubSubInput,
    db_change_stream: Type.Partial(ChangeStream, { description: 'See [Change streams](change-streams.md).' }),
    schedule: Type.Partial(Schedule, {
      description: 'Only a source of the type `schedule` has it. See [Schedules](sources.md#schedules).',
    }),
    verifier: mark(VerifierInput, { usual: { type: 'noop' } }),
  }),
).properties;

/** Where a source takes messages from. */
export type BrokerSettings =
  | SourcePubSub
  | { type: 'postgres'; postgres: ChangeStreamSettings }
  | { type: 'schedule'; schedule: ScheduleSettings };

export interface SourceSecrets {
  verifier: SourceVerifier;
  pub_sub: SourcePubSub | null;
  db_change_stream: ChangeStreamSettings | null;
  /** Absent in sources that a node of an older version wrote. */
  schedule?: ScheduleSettings | null;
}

export interface SourceProviderConfig {
  twitter: { crc_verified_at: string | null };
}

/**
 * Types of a custom response: JSON, plain text, XML and form. None is a page, as HTML and SVG are. Browsers take the last
 * type of a list, so there is no list.
 */
const RESPONSE_TYPE =
  /^(application\/([\w.-]+\+)?json|text\/plain|(text|application)\/xml|application\/x-www-form-urlencoded)(\s*;\s*[\w-]+=("[\w.:+-]*"|[\w.:+-]+))*$/i;

export const RESPONSE_TYPES =
  'application/json, text/plain, application/xml, text/xml or application/x-www-form-urlencoded';

export const isResponseType = (type: string): boolean => type === '' || RESPONSE_TYPE.test(type);

/** Clients of Convoy create change streams without them. */
export const NO_BROKER_SETTINGS = 'The source has no settings of a broker or database.';
