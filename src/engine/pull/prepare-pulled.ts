import { HIDDEN, isCredential, visibleHeaders } from '../../domain/config/credential-headers.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { nextHops } from '../../signing/hops.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';
import { storedTrace } from '../../tracing/trace-context.ts';
import { buildRequest, credentialNames, secretHeaders } from '../attempt/build-request.ts';
import { cloudContent } from '../attempt/content-form.ts';
import { encodeBody, type Made, makeBody } from '../attempt/make-body.ts';
import { ended, expired, type Sent } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/** The request that a push would have been, for a consumer. Or why there is none. */
export type Prepared =
  | {
      kind: 'ready';
      delivery: LeasedDelivery;
      headers: Record<string, string>;
      /** Names of those with secrets of the project or the endpoint. */
      secretHeaders: string[];
      /** JSON of the headers, with credentials hidden. */
      recorded: string;
      body: Buffer;
      /** From a function, to be kept. */
      made: Made;
    }
  | { kind: 'not ready'; sent: Sent };

export interface PrepareDeps extends EnginePart<'sealer' | 'now'> {
  sandbox: Pick<Sandbox, 'run'>;
}

const INTERRUPTED = 'It was sent before. The delivery mode is at most once, so it is not retried.';

export async function preparePulled(
  { sandbox, sealer, now }: PrepareDeps,
  delivery: LeasedDelivery,
  routing: ProjectRouting,
): Promise<Prepared> {
  const notReady = (sent: Sent): Prepared => ({ kind: 'not ready', sent });
  const endpoint = routing.endpoints.get(delivery.endpointId);
  if (endpoint === undefined) return notReady(ended(delivery, 'Discarded', 'The endpoint was deleted.'));
  if (delivery.isStarted) return notReady(ended(delivery, 'Failure', INTERRUPTED));
  const making = await makeBody({ sandbox, sealer }, delivery, { endpoint, routing });
  if (making.kind === 'not made') return notReady(making.sent);
  const tooLate = expired(delivery, now());
  if (tooLate !== null) return notReady(tooLate);
  const { made } = making;
  const event = openHeaders(sealer, delivery.headers, delivery.eventId);
  const { config } = routing.project;
  const encoded = { ...encodeBody(delivery, made.body, endpoint.row.content_type), headers: event.headers };
  const { headers, ...content } = cloudContent(encoded, endpoint.row, delivery);
  const request = buildRequest({ ...delivery, ...content }, endpoint, {
    config,
    nowMs: now(),
    authHeaders: [],
    made: making.request,
    eventHeaders: headers,
    trace: storedTrace(delivery.headers),
    hops: nextHops(sealer, event.headers, routing.isIncoming(delivery.sourceId)),
  });
  const secret = [...credentialNames(endpoint.row, []), ...secretHeaders(making.request)];
  const owner = { credentials: [...secret, ...event.credentials], visible: visibleHeaders(config) };
  // In a credential the value of a variable may be encoded, so that it is not found.
  const set = new Set(Object.keys(making.request?.headers ?? {}));
  const isSecret = (name: string) =>
    secret.includes(name.toLowerCase()) || (set.has(name) && isCredential(name, owner));
  const shown = request.headers.map(([name, value]) => [name, isCredential(name, owner) ? HIDDEN : value]);
  return {
    kind: 'ready',
    delivery,
    headers: Object.fromEntries(request.headers),
    secretHeaders: request.headers.flatMap(([name]) => (isSecret(name) ? name : [])),
    recorded: JSON.stringify(Object.fromEntries(shown)),
    body: request.body,
    made,
  };
}
