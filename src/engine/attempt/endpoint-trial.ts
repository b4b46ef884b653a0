import { EndpointAuth } from '../../dispatch/client/endpoint-auth.ts';
import type { HttpClient } from '../../dispatch/client/http-client.ts';
import type { MessageSender } from '../../dispatch/client/message-sender.ts';
import { visibleHeaders } from '../../domain/config/credential-headers.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import { asId, type IdFactory } from '../../domain/ids.ts';
import { routeEndpoint } from '../../routing/project-routing.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { attemptRecord, withoutCredentials } from './attempt-record.ts';
import { buildRequest, credentialNames, credentialsOf } from './build-request.ts';
import { contentOf } from './content-form.ts';
import { sendBuilt } from './send-built.ts';

/** Marks a request that is a test. */
const TEST_HEADER = 'X-Posthorn-Test';

export interface EndpointTrial {
  /** The endpoint as it is, or as it would be saved. */
  row: EndpointRow;
  config: ProjectConfig;
  /** The keys that its project signs with. */
  keys: ProjectRow['keys'];
  body: Buffer;
  /** Names the header that marks the request, if it is no test. */
  mark?: string;
  /** The id of the request, where receivers see that of an event. */
  messageId?: string;
}

/** The attempt, or why there was none. */
export type TrialResult = { kind: 'tried'; attempt: Attempt } | { kind: 'untried'; reason: string };

/**
 * Sends one request to an endpoint that may not be saved, as a delivery would: signed, with its credentials, under the
 * egress rule. Nothing is stored or counted, and nothing is sent again.
 */
export async function tryEndpoint(
  deps: { http: HttpClient; messages: MessageSender; ids: IdFactory; now(): number },
  { row, config, keys, body, mark = TEST_HEADER, messageId }: EndpointTrial,
): Promise<TrialResult> {
  const auth = await credentialsOf(new EndpointAuth(deps.http), row);
  if (auth.kind === 'failed') return { kind: 'untried', reason: auth.message };
  const id = deps.ids.next<never>();
  const eventId = asId<never>(messageId ?? id);
  const event = { id, eventId, isReplay: false, idempotencyKey: null, urlQueryParams: null };
  const subject = {
    projectId: row.project_id,
    eventId: id,
    eventType: TEST_EVENT_TYPE,
    sourceId: null,
    acknowledgedAtMs: deps.now(),
    id,
    isReplay: false,
    body,
    hasOwnBody: false,
    contentType: null,
  };
  const { headers, ...content } = contentOf(subject, { made: null, headers: { [mark]: ['true'] } }, row);
  const request = buildRequest(
    { ...event, eventType: TEST_EVENT_TYPE, ...content },
    routeEndpoint(row, config, keys),
    {
      config,
      nowMs: deps.now(),
      authHeaders: auth.headers,
      made: null,
      eventHeaders: headers,
      trace: null,
      hops: null,
    },
  );
  const about = { ...event, eventType: TEST_EVENT_TYPE };
  const outcome = await sendBuilt(deps, { request, row, config, about });
  const owner = {
    credentials: credentialNames(row, auth.headers),
    visible: visibleHeaders(config),
  };
  const shown = withoutCredentials(outcome, request, owner);
  const succeeded = shown.kind === 'response' && shown.status >= 200 && shown.status < 300;
  const at = { attemptId: id, nowMs: deps.now() };
  return { kind: 'tried', attempt: attemptRecord(at, request, { outcome: shown, owner, succeeded }) };
}
