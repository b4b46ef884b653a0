import type { BrokerSettingsOf } from '../brokers/broker-schema.ts';

/**
 * Where events come from. Verifier, broker and database settings contain credentials, which are sealed together and
 * never logged.
 */
export const sourceTypes = ['http', 'rest_api', 'pub_sub', 'db_change_stream', 'schedule'] as const;
export type SourceType = (typeof sourceTypes)[number];

/** The values of `verifier.hmac.encoding`. */
export const signatureEncodings = ['hex', 'base64'] as const;
export type SignatureEncoding = (typeof signatureEncodings)[number];

export type SourceVerifier =
  | { type: 'noop' }
  | { type: 'hmac'; hmac: { header: string; hash: string; secret: string; encoding: string } }
  | { type: 'basic_auth'; basic_auth: { username: string; password: string } }
  | { type: 'api_key'; api_key: { header_name: string; header_value: string } };

export type SqsSettings = BrokerSettingsOf<'sqs', 'source'>;
export type GoogleSettings = BrokerSettingsOf<'google', 'source'>;
export type KafkaSettings = BrokerSettingsOf<'kafka', 'source'>;
/** The binding of a queue is stored as Convoy answers with it. */
export type AmqpSettings = Omit<BrokerSettingsOf<'amqp', 'source'>, 'deadLetterExchange' | 'bindExchange'> & {
  deadLetterExchange: string | null;
  bindedExchange: string | null;
  routingKey: string;
};

export type SourcePubSub =
  | { type: 'sqs'; workers: number; sqs: SqsSettings }
  | { type: 'google'; workers: number; google: GoogleSettings }
  | { type: 'kafka'; workers: number; kafka: KafkaSettings }
  | { type: 'amqp'; workers: number; amqp: AmqpSettings };

/** A PostgreSQL database whose changes become events. */
export interface ChangeStreamSettings {
  connection_url: string;
  slot_name: string;
  publication_name: string;
  /** Each as `schema.table`. Empty: those of the publication. */
  tables: string[];
  /** The rows that are there become events too. */
  snapshot: boolean;
}

/** Times at which a source makes an event by itself. */
export interface ScheduleSettings {
  cron: string;
  time_zone: string;
  event_type: string;
  /** Null: the time. */
  data: unknown;
  /** Times up to here are not sent: the schedule was another, or the source was disabled. */
  since: string;
}

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
