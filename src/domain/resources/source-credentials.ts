import type { Static } from 'typebox';
import { credential, mark, open } from '../../platform/json/schema-marks.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { brokerInput } from '../brokers/broker-schema.ts';
import { signatureHashes } from '../config/signature-hash.ts';
import { type SourcePubSub, signatureEncodings } from '../config/source.ts';

/** The settings of a source that hold credentials, in requests, with their marks. They are stored sealed together. */
export const Hmac = Type.Partial(
  Type.Object({
    header: open(Text(256, 'Header with the signature.')),
    hash: open(oneOf([...signatureHashes, ''], 'Hash of the signature.')),
    secret: credential(Text(4096, 'Secret of the signature.')),
    encoding: open(oneOf([...signatureEncodings, ''], 'Encoding of the signature.')),
  }),
);
export const BasicAuth = Type.Partial(
  Type.Object({
    username: Text(1024, 'Required user name.'),
    password: credential(Text(1024, 'Required password.')),
  }),
);
export const ApiKey = Type.Partial(
  Type.Object({
    header_name: open(Text(256, 'Required header. Empty: `Authorization`.')),
    header_value: credential(Text(8192, 'Required value of that header.')),
  }),
);

export const VerifierInput = Type.Partial(
  Type.Object({
    type: open(
      oneOf(
        ['noop', 'hmac', 'basic_auth', 'api_key', ''],
        'How a sender authenticates itself. Default: `noop`.',
      ),
    ),
    hmac: Hmac,
    basic_auth: BasicAuth,
    api_key: ApiKey,
  }),
);
export type VerifierInput = Static<typeof VerifierInput>;

/**
 * Broker settings of a source. Every member is optional in the schema. The code checks the members that a
 * type requires, by the same description of fields.
 */
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

export const ChangeStreamInput = Type.Partial(
  Type.Object({
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
  }),
  { description: 'See [Change streams](change-streams.md).' },
);

export const ScheduleInput = Type.Partial(
  Type.Object({
    cron: open(
      Text(256, 'Minute, hour, day of the month, month and day of the week, such as `0 9 * * mon-fri`.'),
    ),
    time_zone: open(Text(64, 'Name in the IANA database, such as `Europe/Berlin`. Default: `UTC`.')),
    event_type: open(Text(256, 'Type of the events.')),
    data: Type.Unknown({
      description: 'Their payload, 65,536 bytes at most. Null: `{"scheduled_at": TIME}`.',
    }),
  }),
  { description: 'Only a source of the type `schedule` has it. See [Schedules](sources.md#schedules).' },
);

/** Each with its value if it is not given. */
export const sourceCredentials = Type.Partial(
  Type.Object({
    pub_sub: PubSubInput,
    db_change_stream: ChangeStreamInput,
    schedule: ScheduleInput,
    verifier: mark(VerifierInput, { usual: { type: 'noop' } }),
  }),
).properties;
