import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { owned, requireEventTypes } from '../../domain/endpoint-scope.ts';
import { found, invalid, wrongState } from '../../domain/errors.ts';
import { asId, type EndpointId } from '../../domain/ids.ts';
import { payloadTooLarge } from '../../ingest/request/payload-too-large.ts';
import { compactJson, cutTopLevel } from '../../platform/json/cut-json.ts';
import { Text, Type } from '../../platform/type.ts';
import { VERSION } from '../../platform/version.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { TestAttempt, toAttempt } from '../deliveries/delivery-schema.ts';
import {
  changedEndpoint,
  checkEndpoint,
  createdEndpoint,
  requireBrokerRight,
  requireOwnCredentials,
} from '../endpoints/endpoint-input.ts';
import { UpdateEndpoint } from '../endpoints/endpoint-schema.ts';
import { breakerOf } from '../endpoints/endpoint-view.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { AnyJson } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const SAMPLE = '{"message":"This is a test of your endpoint."}';

const TryEndpoint = Type.Object({
  endpoint_id: Type.Optional(
    Text(64, 'A saved endpoint. Fields of `endpoint` are tried in place of its own.'),
  ),
  endpoint: Type.Optional(UpdateEndpoint),
  event_type: Type.Optional(Text(255, 'For links that may see some event types only.')),
  data: Type.Optional(AnyJson('The body to send; a sample by default.')),
});

/** One request to an endpoint before it is saved, with a body of the caller's choice. Nothing is stored. */
export function registerTryEndpoint(app: FastifyInstance, context: SendContext): void {
  operationsOf('Endpoints').post(app, '/api/v1/projects/:projectID/endpoints/test', {
    id: 'tryEndpoint',
    summary: 'Send one test request to an endpoint, saved or not. It is not stored and not counted.',
    body: TryEndpoint,
    message: 'Endpoint tried',
    data: TestAttempt,
    portal: 'manage',
    access: 'developer',
    handle: async (call) => {
      const { project, body, scope } = call;
      requireEventTypes(scope, [body.event_type ?? '*']);
      const row = await triedRow(context, call);
      const payload = compactJson(cutTopLevel(call.bodyText, 'data') ?? SAMPLE);
      if (payload.length > project.config.max_payload_read_size)
        throw payloadTooLarge(project.config.max_payload_read_size);
      if (row.url === '' && row.delivery !== 'broker') throw wrongState('The endpoint has no url to call.');
      return tryNow(context, project, { row, payload });
    },
  });
}

/** One request past the queue and the gates. It is not stored, and neither closes nor feeds the circuit breaker. */
export async function tryNow(
  context: SendContext,
  { config, keys, id }: ProjectRow,
  { row, payload = Buffer.from(SAMPLE) }: { row: EndpointRow; payload?: Buffer },
): Promise<Static<typeof TestAttempt>> {
  const cb_state = await breakerOf(context, id, row.id);
  const result = await context.tryEndpoint({ row, config, keys, body: payload });
  if (result.kind === 'untried') throw wrongState(`Not sent: ${result.reason}`);
  const of = { deliveryId: '', projectId: id, endpointId: row.id, isStale: false };
  const attempt = { ...result.attempt, ...of };
  return { ...toAttempt(attempt, VERSION), outcome: attempt.outcome, cb_state };
}

async function triedRow(
  context: ReadContext,
  { project, body, scope }: Pick<Call<Static<typeof TryEndpoint>>, 'project' | 'body' | 'scope'>,
): Promise<EndpointRow> {
  const input = body.endpoint ?? {};
  await checkEndpoint(context, project.config, input);
  requireBrokerRight(scope, project.config, input);
  if (body.endpoint_id) {
    const id = asId<EndpointId>(body.endpoint_id);
    const known = await context.endpoints.get(context.db, project.id, id);
    const row = found(owned(scope, known), 'endpoint', id);
    requireOwnCredentials(scope, row, input);
    return changedEndpoint(context, row, input);
  }
  if (!input.url && input.delivery !== 'broker')
    throw invalid('endpoint.url', 'is required without endpoint_id');
  const made = createdEndpoint(context, { ...input, name: input.name ?? 'test' });
  return { ...made, project_id: project.id } as EndpointRow;
}
