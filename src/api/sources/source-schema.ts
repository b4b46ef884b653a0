import type { Static } from 'typebox';
import {
  ChangeStream,
  Schedule,
  type ScheduleSettings,
  sourceCredentials,
  verifiers,
} from '../../domain/config/source.ts';
import { createInputs, outputs, shownValues, updateInputs } from '../../domain/resources/fields.ts';
import { sourceFields } from '../../domain/resources/source-fields.ts';
import { providerPresets } from '../../ingest/verify/presets.ts';
import { answered, nullable, oneOf, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { rowTimes } from '../../store/database/row-times.ts';
import { times } from '../http/fields.ts';
import { PubSub, toPubSub } from './pub-sub-schema.ts';
import { SourceStatus } from './source-status.ts';

const Verifier = Type.Object({
  type: oneOf(['noop', 'hmac', 'basic_auth', 'api_key']),
  hmac: nullable(verifiers.hmac),
  basic_auth: nullable(verifiers.basic_auth),
  api_key: nullable(verifiers.api_key),
});

export const Source = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  ...outputs(sourceFields),
  url: Type.String({ description: 'Ingest URL, to which the sender posts its webhooks.' }),
  verifier: Verifier,
  pub_sub: PubSub,
  db_change_stream: nullable(answered(ChangeStream)),
  schedule: nullable(answered(Schedule)),
  status: nullable(SourceStatus, 'Only sources of brokers, databases and schedules have it.'),
  ...times,
});

const providers = [...providerPresets.map((preset) => preset.name), ''];

export const CreateSource = Type.Object({
  ...createInputs(sourceFields),
  provider: Type.Optional(oneOf(providers, sourceFields.provider.facts.text)),
  ...sourceCredentials,
});

export const UpdateSource = Type.Object({ ...updateInputs(sourceFields), ...sourceCredentials });

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
    verifier: { hmac: null, basic_auth: null, api_key: null, ...verifier } as Static<typeof Verifier>,
    pub_sub: toPubSub(pub_sub),
    db_change_stream,
    schedule: schedule && withoutSince(schedule),
    status,
    ...rowTimes(row),
  };
}

function withoutSince(schedule: ScheduleSettings): Static<typeof Schedule> {
  const { since: _since, ...shown } = schedule;
  return shown;
}
