import type { Static } from 'typebox';
import { shownStatuses, statusAt } from '../../domain/config/endpoint.ts';
import { Authentication } from '../../domain/config/endpoint-authentication.ts';
import { type ShownState, stateFields } from '../../domain/config/endpoint-state.ts';
import { ClientCertificate, endpointCredentials } from '../../domain/resources/endpoint-credentials.ts';
import { endpointFields } from '../../domain/resources/endpoint-fields.ts';
import { createInputs, outputs, shownValues, updateInputs } from '../../domain/resources/fields.ts';
import { hiddenAs } from '../../platform/json/schema-marks.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { standardWebhooksSecret } from '../../signing/signing-secrets.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { EndpointCounts } from '../../store/counts/read-counts.ts';
import { rowTimes } from '../../store/database/row-times.ts';
import { isoOrNull, NullableTime, times } from '../http/fields.ts';
import { Broker, toBroker } from './broker-of-endpoint.ts';

const Secret = Type.Object({
  uid: Type.String(),
  value: Type.String(),
  expires_at: NullableTime,
  ...times,
});

/** Stored sealed. Only who may see the secrets of the endpoint sees it (portal-view.ts, viewer-view.ts). */
const SealedText = Type.String({ format: 'password' });

const NullableNumber = nullable(Type.Number());

export const Endpoint = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  ...outputs(endpointFields),
  status: oneOf(shownStatuses, endpointFields.status.facts.text),
  expires_at: endpointFields.expires_at.output,
  secrets: hiddenAs([], Type.Array(Secret)),
  standard_webhooks_secret: hiddenAs(
    '',
    Type.String({ description: 'The newest secret in the form of Standard Webhooks libraries.' }),
  ),
  authentication: hiddenAs(null, nullable(Authentication)),
  mtls_client_cert: Type.Optional(ClientCertificate),
  signing_key: nullable(Type.Object({ type: Type.String(), public_key: Type.String() })),
  slack_webhook_url: hiddenAs('', Type.String()),
  teams_webhook_url: hiddenAs('', Type.String()),
  headers: Type.Record(Type.String(), SealedText),
  broker: nullable(Broker),
  events: Type.Integer({ description: 'Deliveries created so far.' }),
  failure_rate: Type.Integer({ description: 'Percentage of failed attempts in the observed window.' }),
  cb_state: Type.String({ description: 'State of the circuit breaker: closed, half-open or open.' }),
  ...stateFields,
  period_failure_rate: NullableNumber,
  success_count: NullableNumber,
  failure_count: NullableNumber,
  retry_count: NullableNumber,
  ...times,
});

const { secret, ...credentials } = endpointCredentials;
const others = {
  ...credentials,
  is_disabled: Type.Optional(
    Type.Boolean({
      description:
        'True makes the endpoint inactive: its deliveries are discarded. False changes nothing. Use activate to activate it.',
    }),
  ),
  secret,
};

export const CreateEndpoint = Type.Object({ ...createInputs(endpointFields), ...others });
export const UpdateEndpoint = Type.Object({ ...updateInputs(endpointFields), ...others });

export const ExpireSecret = Type.Object({
  expiration: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description: 'Seconds until the old secret stops signing; 0 = at once.',
    }),
  ),
  secret: Type.Optional(
    Type.String({ maxLength: 1024, description: 'The new secret; generated if absent.' }),
  ),
});

/** The facts that are not in the row. */
interface EndpointView {
  counts: EndpointCounts;
  breaker: string;
  state: ShownState;
}

export function toEndpoint(
  row: EndpointRow,
  nowMs: number,
  { counts, breaker, state }: EndpointView,
): Static<typeof Endpoint> {
  const secret = row.secret.reveal();
  const { secrets, authentication, mtls_client_cert, signing_key } = secret;
  return {
    uid: row.id,
    project_id: row.project_id,
    ...shownValues(endpointFields, row),
    status: statusAt(row, nowMs),
    expires_at: isoOrNull(row.expires_at),
    delivery: row.delivery === 'device' ? 'pull' : row.delivery,
    secrets,
    standard_webhooks_secret: standardWebhooksSecret(secrets.at(-1)?.value ?? ''),
    authentication: authentication as Static<typeof Authentication> | null,
    ...(mtls_client_cert !== null && { mtls_client_cert }),
    signing_key: signing_key === null ? null : { type: 'ed25519', public_key: signing_key.public_key },
    slack_webhook_url: secret.slack_webhook_url,
    teams_webhook_url: secret.teams_webhook_url,
    headers: { ...secret.headers },
    broker: toBroker(secret.broker ?? null),
    events: counts.deliveries,
    failure_rate: failureRate(counts),
    cb_state: breaker,
    ...state,
    period_failure_rate: null,
    success_count: null,
    failure_count: null,
    retry_count: null,
    ...rowTimes(row),
  };
}

function failureRate({ successes, failures }: EndpointCounts): number {
  const attempts = successes + failures;
  return attempts === 0 ? 0 : Math.round((100 * failures) / attempts);
}
