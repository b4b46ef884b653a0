import type { Static } from 'typebox';
import { signatureHashes } from '../../domain/config/signature-hash.ts';
import { type SourceVerifier, sourceTypes } from '../../domain/config/source.ts';
import { idTime } from '../../domain/ids.ts';
import { providerPresets } from '../../ingest/verify/presets.ts';
import { signatureEncodings } from '../../ingest/verify/signature.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { iso, isoOrNull, Key, NullableTime, Time } from '../http/fields.ts';
import { ChangeStream, ChangeStreamInput } from './change-stream-schema.ts';
import { PubSub, PubSubInput, toPubSub } from './pub-sub-schema.ts';
import { SourceStatus } from './source-status.ts';

const Hmac = Type.Object({
  header: Type.Optional(Text(256, 'Header with the signature.')),
  hash: Type.Optional(oneOf([...signatureHashes, ''])),
  secret: Type.Optional(Text(4096)),
  encoding: Type.Optional(oneOf([...signatureEncodings, ''])),
});
const BasicAuth = Type.Object({
  username: Type.Optional(Text(1024)),
  password: Type.Optional(Text(1024)),
});
const ApiKey = Type.Object({
  header_name: Type.Optional(Text(256, 'Empty: the Authorization header.')),
  header_value: Type.Optional(Text(8192)),
});

export const VerifierInput = Type.Object({
  type: Type.Optional(oneOf(['noop', 'hmac', 'basic_auth', 'api_key', ''])),
  hmac: Type.Optional(Hmac),
  basic_auth: Type.Optional(BasicAuth),
  api_key: Type.Optional(ApiKey),
});
export type VerifierInput = Static<typeof VerifierInput>;

const Verifier = Type.Object({
  type: oneOf(['noop', 'hmac', 'basic_auth', 'api_key']),
  hmac: Type.Union([Type.Required(Hmac), Type.Null()]),
  basic_auth: Type.Union([Type.Required(BasicAuth), Type.Null()]),
  api_key: Type.Union([Type.Required(ApiKey), Type.Null()]),
});

export const Source = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  mask_id: Type.String({ description: 'Id of the source in its ingest URL.' }),
  name: Type.String(),
  url: Type.String({ description: 'Ingest URL, to which the sender posts its webhooks.' }),
  type: oneOf(sourceTypes),
  provider: Type.String(),
  is_disabled: Type.Boolean(),
  verifier: Verifier,
  custom_response: Type.Object({ body: Type.String(), content_type: Type.String() }),
  provider_config: Type.Union([
    Type.Object({ twitter: Type.Object({ crc_verified_at: NullableTime }) }),
    Type.Null(),
  ]),
  forward_headers: Type.Array(Type.String()),
  pub_sub: PubSub,
  db_change_stream: Type.Union([ChangeStream, Type.Null()]),
  idempotency_keys: Type.Array(Type.String()),
  event_type_location: Type.String(),
  body_function: Type.String(),
  header_function: Type.String(),
  rate_limit: Type.Integer({ description: 'Events accepted per rate_limit_duration; 0 = no limit.' }),
  rate_limit_duration: Type.Integer({ description: 'Seconds.' }),
  key: Type.String(),
  status: Type.Union([SourceStatus, Type.Null()], { description: 'Only broker sources have it.' }),
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const optionalFields = {
  is_disabled: Type.Optional(Type.Boolean({ description: 'A disabled source refuses every request.' })),
  body_function: Type.Optional(Text(262_144, 'JavaScript that changes the incoming payload.')),
  header_function: Type.Optional(Text(262_144, 'JavaScript that changes the incoming headers.')),
  idempotency_keys: Type.Optional(
    Type.Array(Text(512), {
      maxItems: 20,
      description: 'Parts of a request that identify its event, such as request.body.id.',
    }),
  ),
  event_type_location: Type.Optional(
    Text(
      512,
      'Location of the event type, such as request.body.type. With a signature, in the body or a header.',
    ),
  ),
  forward_headers: Type.Optional(
    Type.Array(RequiredText(256), { maxItems: 100, description: 'Headers forwarded with each delivery.' }),
  ),
  custom_response: Type.Optional(
    Type.Object({
      body: Type.Optional(Type.String({ description: '51,200 bytes at most.' })),
      content_type: Type.Optional(Text(256, 'JSON, plain text, XML or form.')),
    }),
  ),
  pub_sub: Type.Optional(PubSubInput),
  db_change_stream: Type.Optional(ChangeStreamInput),
  verifier: Type.Optional(VerifierInput),
  rate_limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  rate_limit_duration: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })),
  key: Type.Optional(Key),
};

export const CreateSource = Type.Object({
  name: RequiredText(256),
  type: oneOf(sourceTypes),
  provider: Type.Optional(
    oneOf(
      [...providerPresets.map((preset) => preset.name), ''],
      'A sender with a known signature scheme; needs only verifier.hmac.secret.',
    ),
  ),
  ...optionalFields,
});

export const UpdateSource = Type.Object({
  name: Type.Optional(RequiredText(256)),
  type: Type.Optional(oneOf(sourceTypes)),
  ...optionalFields,
});

/** `status`: as far as it was asked for. */
export function toSource(
  row: SourceRow,
  publicUrl: string,
  status: Static<typeof SourceStatus> | null = null,
): Static<typeof Source> {
  const { verifier, pub_sub, db_change_stream } = row.secret.reveal();
  return {
    uid: row.id,
    project_id: row.project_id,
    mask_id: row.mask_id,
    name: row.name,
    url: `${publicUrl.replace(/\/+$/, '')}/ingest/${row.mask_id}`,
    type: row.type,
    provider: row.provider,
    is_disabled: row.is_disabled,
    verifier: toVerifier(verifier),
    custom_response: row.custom_response,
    provider_config: row.provider_config,
    forward_headers: row.forward_headers,
    pub_sub: toPubSub(pub_sub),
    db_change_stream,
    idempotency_keys: row.idempotency_keys,
    event_type_location: row.event_type_location,
    body_function: row.body_function,
    header_function: row.header_function,
    rate_limit: row.rate_limit,
    rate_limit_duration: row.rate_limit_duration,
    key: row.key,
    status,
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: isoOrNull(row.deleted_at),
  };
}

function toVerifier(verifier: SourceVerifier): Static<typeof Verifier> {
  return { hmac: null, basic_auth: null, api_key: null, ...verifier } as Static<typeof Verifier>;
}
