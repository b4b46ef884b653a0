import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import type { Actor, AuditNote } from '../../domain/audit.ts';
import { LANE, openStatuses, TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import { type EndpointScope, seesDelivery } from '../../domain/endpoint-scope.ts';
import { AppError, badQuery, found, invalid, invalidFields, wrongState } from '../../domain/errors.ts';
import type { BatchRetry } from '../../jobs/delivery-jobs.ts';
import { Type } from '../../platform/type.ts';
import { resend } from '../../routing/resend.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { Queryable } from '../../store/database/database.ts';
import { countDeliveries, type DeliveryFilter, getDelivery } from '../../store/history/event-deliveries.ts';
import { type LockedDelivery, lockDeliveries } from '../../store/queue/resend-deliveries.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { ignoredPageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { unknownNames } from '../http/unknown-fields.ts';
import { parseJson } from '../http/validation.ts';
import { dryRunAnswer, ignoresOrder, jobOptions, jobQuery, orderOption } from '../jobs/dry-run.ts';
import { Job, startJob } from '../jobs/jobs.ts';
import {
  deliveryFilter,
  deliveryFilterAliases,
  deliveryFilterQuery,
  onlyStatuses,
} from './delivery-filter.ts';
import { EventDelivery } from './delivery-schema.ts';
import { deliveryView } from './delivery-view.ts';
import { dryRunOfDeliveries } from './dry-run-deliveries.ts';
import { registerSendNow } from './send-now.ts';

const path = '/api/v1/projects/:projectID/eventdeliveries';
const route = operationsOf('Event deliveries');
const JobFilters = Type.Object({ ...deliveryFilterQuery, ...jobQuery });

const RETRYABLE = ['Failure', 'Discarded'] as const;
const RETRY_HINT = 'only Failure and Discarded can be retried; forceresend sends successful ones again';
const CANCEL_HINT = 'only Scheduled, Processing and Retry can be cancelled';

/** Manual actions on deliveries. Each changes rows. The engine finds them, or is notified. */
export function registerDeliveryActions(app: FastifyInstance, context: SendContext): void {
  registerResends(app, context);
  registerBatches(app, context);
  registerSendNow(app, context);
}

function registerResends(app: FastifyInstance, context: SendContext): void {
  route.put(app, `${path}/:eventDeliveryID/resend`, {
    id: 'resendEventDelivery',
    summary: 'Send a failed or discarded delivery again, with a fresh retry budget.',
    query: Type.Object(orderOption),
    acts: true,
    message: 'Event delivery scheduled',
    data: EventDelivery,
    portal: 'resend',
    access: 'developer',
    handle: async ({ project, params, query, scope, actor }) => {
      const id = params.eventDeliveryID;
      await resendAll(
        context,
        { project, actor, scope },
        {
          ids: [id],
          ignoresOrder: ignoresOrder(query),
          check: ([delivery]) => refuseUnfailed(found(delivery, 'event delivery', id)),
          note: ([delivery]) => ({
            action: 'event_delivery.resent',
            resourceId: id,
            before: { status: delivery?.status },
            after: { status: 'Scheduled' },
          }),
        },
      );
      return readDelivery(context, project, id);
    },
  });
  route.post(app, `${path}/forceresend`, {
    id: 'forceResendEventDeliveries',
    summary: 'Send successful deliveries again.',
    body: Type.Object({
      ids: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 1000 }),
      ...orderOption,
    }),
    acts: true,
    message: 'Event deliveries scheduled',
    data: Type.Object({ successful: Type.Integer(), failed: Type.Integer() }),
    portal: 'resend',
    access: 'developer',
    handle: async ({ project, body, scope, actor }) => {
      const ids = [...new Set(body.ids)];
      await resendAll(
        context,
        { project, actor, scope },
        {
          ids,
          ignoresOrder: body.order === 'ignore',
          check: (deliveries) => refuseUnsent(ids, deliveries),
          note: () => ({
            action: 'event_delivery.force_resent',
            resourceId: null,
            before: null,
            after: { ids },
          }),
        },
      );
      return { successful: ids.length, failed: 0 };
    },
  });
}

async function resendAll(
  context: SendContext,
  { project, actor, scope }: { project: ProjectRow; actor: Actor; scope: EndpointScope | undefined },
  wanted: {
    ids: string[];
    ignoresOrder: boolean;
    check(deliveries: LockedDelivery[]): void;
    note(deliveries: LockedDelivery[]): AuditNote;
  },
): Promise<void> {
  const routing = await context.cache.refresh(project.id);
  const woken = await audited(context, { projectId: project.id, actor }, async (tx) => {
    const locked = await lockDeliveries(tx, project.id, { ids: wanted.ids });
    const deliveries = locked.filter((delivery) => seesDelivery(scope, delivery));
    wanted.check(deliveries);
    const { ignoresOrder } = wanted;
    const nowMs = context.now();
    const result = await resend(tx, routing, { deliveries, lane: LANE.retry, ignoresOrder, nowMs });
    return { result, audit: [wanted.note(deliveries)] };
  });
  for (const where of woken) context.wake(project.id, where);
}

function refuseUnfailed({ status }: LockedDelivery): void {
  if (status === 'Success')
    throw wrongState('This delivery has already succeeded; use forceresend to send it again.');
  if (status !== 'Failure' && status !== 'Discarded')
    throw wrongState('This delivery has not failed; it is still in progress.');
}

function refuseUnsent(ids: string[], deliveries: LockedDelivery[]): void {
  const byId = new Map<string, LockedDelivery>(deliveries.map((delivery) => [delivery.id, delivery]));
  for (const id of ids) {
    const delivery = byId.get(id);
    if (delivery === undefined)
      throw new AppError('not_in_project', { field: 'ids', resource: 'event delivery', id });
    if (delivery.status !== 'Success')
      throw wrongState(`Only successful deliveries can be force resent; ${id} is ${delivery.status}.`);
  }
}

function registerBatches(app: FastifyInstance, context: SendContext): void {
  const { db } = context;
  const counting = (project: ProjectRow, filter: DeliveryFilter) => (tx: Queryable) =>
    countDeliveries(tx, project.id, filter);
  const retryFilter = async (call: Pick<Call<unknown>, 'project' | 'scope' | 'query'>) =>
    withoutTests(onlyStatuses(await deliveryFilter(context, call, call.query), RETRYABLE, RETRY_HINT));
  const start = async (
    { project, by }: Pick<Call<unknown>, 'project' | 'by'>,
    { isDryRun, ...work }: Parameters<typeof dryRunOfDeliveries>[2] & { isDryRun: boolean },
    reply: FastifyReply,
  ) => {
    if (isDryRun) return dryRunOfDeliveries(context, project, work);
    const { filter: input, ...rest } = work;
    const count = counting(project, input);
    return startJob(context, { by, reply }, { ...rest, input, count });
  };
  route.post(app, `${path}/batchretry`, {
    id: 'batchRetryEventDeliveries',
    summary: 'Start a job that sends every failed or discarded delivery matching the filters again.',
    query: Type.Object({ ...ignoredPageQuery, ...deliveryFilterQuery, ...jobQuery, ...orderOption }),
    acts: true,
    alsoKnown: deliveryFilterAliases,
    message: 'Batch retry started',
    variant: dryRunAnswer,
    data: Job,
    portal: 'resend',
    access: 'developer',
    handle: async (call, _request, reply) => {
      const options = jobOptions(call.query);
      const wanted = await retryFilter(call);
      const filter: BatchRetry = ignoresOrder(call.query) ? { ...wanted, ignoresOrder: true } : wanted;
      return start(call, { type: 'batch_retry', filter, ...options }, reply);
    },
  });
  route.get(app, `${path}/countbatchretryevents`, {
    id: 'countBatchRetryEventDeliveries',
    summary: 'Count the deliveries that a batch retry with these filters would send.',
    query: Type.Object({ ...ignoredPageQuery, ...deliveryFilterQuery }),
    alsoKnown: deliveryFilterAliases,
    message: 'Event deliveries counted',
    data: Type.Object({ num: Type.Integer() }),
    portal: 'read',
    access: 'viewer',
    handle: async (call) => ({
      num: await db.reading(call.project.id, counting(call.project, await retryFilter(call))),
    }),
  });
  route.post(app, `${path}/cancel`, {
    id: 'cancelEventDeliveries',
    summary:
      'Start a job that discards every open delivery matching the filters in the query or the JSON body.',
    query: JobFilters,
    acts: true,
    alsoKnown: deliveryFilterAliases,
    message: 'Cancelling started',
    data: Job,
    access: 'developer',
    handle: async (call, request, reply) => {
      const given = { ...call.query, ...bodyFilters(request.body) };
      const options = jobOptions(given);
      const asked = await deliveryFilter(context, call, given);
      const filter = onlyStatuses(asked, openStatuses, CANCEL_HINT);
      return start(call, { type: 'batch_cancel', filter, ...options }, reply);
    },
  });
}

/** A test has one attempt. It is sent again only if the filter names it. */
function withoutTests(filter: DeliveryFilter): DeliveryFilter {
  const { ids = [], eventId, eventType } = filter;
  const isNamed = ids.length > 0 || eventId !== undefined || eventType === TEST_EVENT_TYPE;
  return isNamed ? filter : { ...filter, exceptTests: true };
}

const filterNames = new Set([...Object.keys(JobFilters.properties), ...deliveryFilterAliases]);

/** Filters of a call whose body is optional. Unknown ones are refused, as in the query. */
function bodyFilters(body: unknown): Call<unknown>['query'] {
  const given = Object.entries(objectIn(body)).filter(([, value]) => value !== null);
  const names = given.map(([name]) => name);
  const unknown = unknownNames('field', names, filterNames);
  if (unknown.length > 0) throw invalidFields(unknown.map((problem) => ({ field: '', problem })));
  const isText = (item: unknown) => typeof item === 'string';
  return Object.fromEntries(
    given.map(([name, value]) => {
      if (Object.hasOwn(jobQuery, name)) return [name, String(value)];
      if (!isText(value) && !(Array.isArray(value) && value.every(isText)))
        throw badQuery(name, 'must be a text or a list of texts');
      return [name, value as string | string[]];
    }),
  );
}

function objectIn(body: unknown): object {
  const text = Buffer.isBuffer(body) ? body.toString().trim() : '';
  if (text === '') return {};
  const value = parseJson(text);
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid('body', 'must be an object');
  return value ?? {};
}

async function readDelivery(
  context: ReadContext,
  project: ProjectRow,
  id: string,
): Promise<Static<typeof EventDelivery>> {
  const row = found(await getDelivery(context.db, project.id, id), 'event delivery', id);
  return (await deliveryView(context, project.id, [row]))(row);
}
