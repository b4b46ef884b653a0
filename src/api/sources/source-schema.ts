import type { Static } from 'typebox';
import { signatureHashes } from '../../domain/config/signature-hash.ts';
import type { ScheduleSettings, SourceVerifier } from '../../domain/config/source.ts';
import { idTime } from '../../domain/ids.ts';
import { createInputs, outputs, shownValues, updateInputs } from '../../domain/resources/fields.ts';
import { sourceFields } from '../../domain/resources/source-fields.ts';
import { providerPresets } from '../../ingest/verify/presets.ts';
import { signatureEncodings } from '../../ingest/verify/signature.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { iso, isoOrNull, NullableTime, Time } from '../http/fields.ts';
import { ChangeStream, ChangeStreamInput } from './change-stream-schema.ts';
import { PubSub, PubSubInput, toPubSub } from './pub-sub-schema.ts';
import { Schedule, ScheduleInput } from './schedule-schema.ts';
import { SourceStatus } from './source-status.ts';

const Hmac = Type.Object({
  header: Type.Optional(Text(256, 'Header with the signature.')),
  hash: Type.Optional(oneOf([...signatureHashes, ''], 'Hash of the signature.')),
  secret: Type.Optional(Text(4096, 'Secret of the signature.')),
  encoding: Type.Optional(oneOf([...signatureEncodings, ''], 'Encoding of the signature.')),
});
const BasicAuth = Type.Object({
  username: Type.Optional(Text(1024, 'Required user name.')),
  password: Type.Optional(Text(1024, 'Required password.')),
});
const ApiKey = Type.Object({
  header_name: Type.Optional(Text(256, 'Required header. Empty: `Authorization`.')),
  header_value: Type.Optional(Text(8192, 'Required value of that header.')),
});

export const VerifierInput = Type.Object({
  type: Type.Optional(
    oneOf(
      ['noop', 'hmac', 'basic_auth', 'api_key', ''],
      'How a sender authenticates itself. Default: `noop`.',
    ),
  ),
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
  ...outputs(sourceFields),
  url: Type.String({ description: 'Ingest URL, to which the sender posts its webhooks.' }),
  verifier: Verifier,
  pub_sub: PubSub,
  db_change_stream: Type.Union([ChangeStream, Type.Null()]),
  schedule: Type.Union([Schedule, Type.Null()]),
  status: Type.Union([SourceStatus, Type.Null()], {
    description: 'Only sources of brokers, databases and schedules have it.',
  }),
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const credentials = {
  pub_sub: Type.Optional(PubSubInput),
  db_change_stream: Type.Optional(ChangeStreamInput),
  schedule: Type.Optional(ScheduleInput),
  verifier: Type.Optional(VerifierInput),
};

const providers = [...providerPresets.map((preset) => preset.name), ''];

export const CreateSource = Type.Object({
  ...createInputs(sourceFields),
  provider: Type.Optional(oneOf(providers, sourceFields.provider.facts.text)),
  ...credentials,
});

export const UpdateSource = Type.Object({ ...updateInputs(sourceFields), ...credentials });

/** `status`: as far as it was asked for. */
export function toSource(
  row: SourceRow,
  publicUrl: string,
  status: Static<typeof SourceStatus> | null = null,
): Static<typeof Source> {
  const { verifier, pub_sub, db_change_stream, schedule = null } = row.secret.reveal();
  return {
    uid: row.id,
    project_id: row.project_id,
    ...shownValues(sourceFields, row),
    url: `${publicUrl.replace(/\/+$/, '')}/ingest/${row.mask_id}`,
    verifier: toVerifier(verifier),
    pub_sub: toPubSub(pub_sub),
    db_change_stream,
    schedule: schedule && toSchedule(schedule),
    status,
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: isoOrNull(row.deleted_at),
  };
}

function toSchedule({ cron, time_zone, event_type, data }: ScheduleSettings): Static<typeof Schedule> {
  return { cron, time_zone, event_type, data };
}

function toVerifier(verifier: SourceVerifier): Static<typeof Verifier> {
  return { hmac: null, basic_auth: null, api_key: null, ...verifier } as Static<typeof Verifier>;
}
