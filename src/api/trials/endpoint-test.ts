import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { ensureSubscription } from '../../control/subscription-changes.ts';
import type { Actor } from '../../domain/audit.ts';
import { isFetched, statusAt, timeoutSeconds } from '../../domain/config/endpoint.ts';
import { BATCH_LANE, TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import { owned, seesEventType } from '../../domain/endpoint-scope.ts';
import { AppError, found, wrongState } from '../../domain/errors.ts';
import { VERSION } from '../../platform/version.ts';
import { listAttempts, type StoredAttempt } from '../../store/attempts/read-attempts.ts';
import { formAlone } from '../../store/batching/form-batches.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { getDelivery, listDeliveries } from '../../store/history/event-deliveries.ts';
import { endOpenDeliveries } from '../../store/queue/resend-deliveries.ts';
import { TestAttempt, toAttempt } from '../deliveries/delivery-schema.ts';
import { breakerOf } from '../endpoints/endpoint-view.ts';
import type { ApiContext, ReadContext, SendContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { tryNow } from './try-endpoint.ts';

/**
 * A sample event for one endpoint, sent like every event: stored, matched to the endpoint's oldest
 * subscription, signed, sent, recorded. There is one attempt: a failed test is not retried for hours. Through a circuit
 * breaker that is not closed it is a single request.
 */
/** Time for storing, claiming and recording, in addition to the exchange. */
const MARGIN_SECONDS = 5;
const LOOK_EVERY_MS = 25;

export function registerEndpointTest(app: FastifyInstance, context: ApiContext): void {
  operationsOf('Endpoints').post(app, '/api/v1/projects/:projectID/endpoints/:endpointID/test', {
    id: 'testEndpoint',
    summary:
      'Send a sample event to an endpoint and wait for the attempt. An endpoint without a subscription gets one for every event type.',
    message: 'Endpoint tried',
    data: TestAttempt,
    portal: 'resend',
    access: 'developer',
    acts: true,
    handle: async ({ project, params, actor, scope }) => {
      const id = params.endpointID;
      const known = await context.endpoints.get(context.db, project.id, id);
      // The created subscription gets every event type.
      const mayChange = scope === undefined || (scope.canManage && seesEventType(scope, '*'));
      return test(context, { project, actor, mayChange }, found(owned(scope, known), 'endpoint', id));
    },
  });
}

interface Tester {
  project: ProjectRow;
  actor: Actor;
  /** Whether an endpoint without a subscription gets one. */
  mayChange: boolean;
}

async function test(
  context: ApiContext,
  by: Tester,
  endpoint: EndpointRow,
): Promise<Static<typeof TestAttempt>> {
  const { project } = by;
  const status = statusAt(endpoint, context.now());
  const remedy = status === 'pending' ? 'verify' : 'activate';
  if (status !== 'active') throw wrongState(`The endpoint is ${status}; ${remedy} it first.`);
  const cb_state = await breakerOf(context, project.id, endpoint.id);
  // Behind the breaker the sample would wait, or be the probe that closes it.
  if (cb_state !== 'closed' && !isFetched(endpoint)) return tryNow(context, project, { row: endpoint });
  const deliveryId = await sendSample(context, by, endpoint);
  const seconds = timeoutSeconds(endpoint, project.config) + MARGIN_SECONDS;
  const tried = await firstAttempt(context, project, { deliveryId, seconds });
  const { metaEvents } = context;
  const end = { ids: [deliveryId], status: 'Failure', description: 'A test has one attempt.' } as const;
  const ended = await context.db.transaction((tx) => endOpenDeliveries({ tx, metaEvents }, project.id, end));
  if (ended.count > 0) context.metaEventsStored(project.id);
  if (tried === undefined) throw new AppError('test_timeout', { seconds, id: deliveryId });
  return { ...toAttempt(tried, VERSION), outcome: tried.outcome, cb_state };
}

/** The id of its delivery. */
async function sendSample(
  context: ApiContext,
  { project, actor, mayChange }: Tester,
  endpoint: EndpointRow,
): Promise<string> {
  if (mayChange) await ensureSubscription(context.changes, { projectId: project.id, actor }, endpoint.id);
  const routing = await context.cache.refresh(project.id);
  const subscription = routing.oldestSubscription(endpoint.id);
  if (!routing.hasSubscription(endpoint.id))
    throw wrongState('The endpoint has no subscription; create one first.');
  const { event } = await context.acceptor.accept({
    projectId: project.id,
    target: {
      kind: 'subscription',
      subscriptionId: subscription?.row.id ?? '',
    },
    eventType: TEST_EVENT_TYPE,
    payload: Buffer.from(
      JSON.stringify({ message: 'This is a test of your endpoint.', endpoint_id: endpoint.id }),
    ),
    contentType: null,
    forwardedHeaders: null,
    credentials: [],
    trace: null,
    hops: 0,
    functionFailure: null,
    headers: {},
    idempotencyKey: null,
    sourceId: null,
    appId: null,
    acknowledgedAtMs: null,
    urlQueryParams: null,
    urlPath: null,
    metadata: null,
  });
  const page = { perPage: 1, direction: 'next', cursor: null, order: 'ASC' } as const;
  const { rows } = await listDeliveries(context.db, project.id, { page, eventId: event.id });
  const { id } = found(rows[0], 'endpoint', endpoint.id);
  if (subscription !== undefined && routing.batchOf(subscription) !== null)
    await sendAlone(context, project, id);
  return id;
}

/** The sample waits for no others: it is a batch of its own. */
async function sendAlone({ db, ids, wake }: SendContext, { id }: ProjectRow, deliveryId: string) {
  const key = await formAlone(db, { projectId: id, deliveryId, batchId: ids.next() });
  if (key !== undefined) wake(id, { key, lane: BATCH_LANE.formed });
}

/** Undefined if there was none in time. An error if the delivery ended without one. */
async function firstAttempt(
  context: ReadContext,
  project: ProjectRow,
  wait: { deliveryId: string; seconds: number },
): Promise<(StoredAttempt & { outcome: string }) | undefined> {
  const deadline = performance.now() + wait.seconds * 1000;
  while (performance.now() < deadline) {
    const delivery = await getDelivery(context.db, project.id, wait.deliveryId);
    const attempt = (await listAttempts(context.db, project.id, wait.deliveryId)).at(-1);
    // Before the first counted attempt there is at most a request whose connection was dropped. The second
    // request is on its way.
    if (attempt !== undefined && (delivery?.num_trials ?? 0) > 0)
      return { ...attempt, outcome: delivery?.last_outcome ?? '' };
    if (delivery?.status === 'Failure' || delivery?.status === 'Discarded')
      throw wrongState(`Not sent: ${delivery.description ?? delivery.status}`);
    await sleep(LOOK_EVERY_MS);
  }
  return undefined;
}
