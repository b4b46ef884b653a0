import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type EndpointScope, inScope } from '../../domain/endpoint-scope.ts';
import { AppError, badQuery, found } from '../../domain/errors.ts';
import { parsePageRequest, queryFlag } from '../../domain/pagination.ts';
import type { BatchReplay } from '../../jobs/replay-job.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import {
  countEvents,
  type EventFilter,
  getEvent,
  listEvents,
  newestEventId,
} from '../../store/history/events.ts';
import { searchPayloads } from '../../store/history/search-payloads.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import { hidesPayload } from '../http/access/access.ts';
import type { Call } from '../http/call.ts';
import type { ApiContext, ReadContext, SendContext } from '../http/context.ts';
import { ignoredPageQuery, mapPage, Nothing, PageOf, pageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { dryRunAnswer, ignoresOrder, jobOptions, jobQuery, orderOption } from '../jobs/dry-run.ts';
import { Job, startJob } from '../jobs/jobs.ts';
import { registerDeliverAt } from './deliver-at.ts';
import { dryRunOfEvents } from './dry-run-events.ts';
import { batchEventFilter, eventFilterQuery, eventSearch } from './event-filter.ts';
import { Event, toEvent, WholeEvent } from './event-schema.ts';
import { registerBatch, registerSending } from './send-events.ts';
import { sentTo, sentToQuery } from './sent-to.ts';

const path = '/api/v1/projects/:projectID/events';
const route = operationsOf('Events');

export function registerEvents(app: FastifyInstance, context: ApiContext): void {
  registerSending(app, context);
  registerBatch(app, context);
  registerReading(app, context);
  registerReplay(app, context);
  registerDeliverAt(app, context);
}

function registerReading(app: FastifyInstance, context: ReadContext): void {
  const { db } = context;
  route.get(app, path, {
    id: 'listEvents',
    summary: 'List and search events.',
    query: Type.Object({ ...pageQuery, ...eventFilterQuery }),
    message: 'Events fetched',
    data: PageOf(Event),
    portal: 'read',
    access: 'viewer',
    handle: async ({ caller, project, query, scope }) => {
      const { filter: asked, patterns } = await eventSearch(context, project, query);
      const filter = { ...asked, scope };
      const page = parsePageRequest(query);
      if (patterns.length > 0 && hidesPayload(caller, project))
        throw new AppError('role_required', { role: 'developer', own: 'viewer' });
      const events = await db.reading(project.id, (tx) =>
        patterns.length === 0
          ? listEvents(tx, project.id, { ...filter, page })
          : searchPayloads(tx, project.id, { filter, page, patterns, limitMs: db.readingMs }),
      );
      const routing = await context.cache.get(project.id);
      return mapPage(events, (row) => toEvent(row, routing));
    },
  });
  route.get(app, `${path}/:eventID`, {
    id: 'getEvent',
    summary: 'Get an event.',
    message: 'Event fetched',
    data: WholeEvent,
    portal: 'read',
    access: 'viewer',
    handle: ({ project, params, scope }) => readEvent(context, project, { id: params.eventID, scope }),
  });
}

function registerReplay(app: FastifyInstance, context: SendContext): void {
  const { db } = context;
  route.put(app, `${path}/:eventID/replay`, {
    id: 'replayEvent',
    summary: 'Replay an event: match it again and deliver it to every match.',
    query: Type.Object({ ...sentToQuery, ...orderOption }),
    acts: true,
    message: 'Event replayed',
    data: WholeEvent,
    portal: 'resend',
    access: 'developer',
    handle: async ({ project, params, query, scope, actor }) => {
      const id = params.eventID;
      const event = found(await getEvent(db, project.id, id, scope), 'event', id);
      const only = await sentTo(context, project, { query, within: scope && [...scope.endpointIds] });
      await context.replayer.replay(event, { actor, only, ignoresOrder: ignoresOrder(query) });
      return readEvent(context, project, { id, scope });
    },
  });
  route.post(app, `${path}/batchreplay`, {
    id: 'batchReplayEvents',
    summary: 'Start a job that replays every event matching the filters. Duplicates are skipped.',
    query: Type.Object({
      ...ignoredPageQuery,
      ...eventFilterQuery,
      ...jobQuery,
      ...orderOption,
      ...sentToQuery,
      only_endpoint: Type.Optional(
        Type.Boolean({
          description: 'Send only to the endpoints that `endpointId` and `ownerId` name.',
        }),
      ),
    }),
    acts: true,
    message: 'Batch replay started',
    variant: dryRunAnswer,
    data: Nothing,
    beside: { job: Job },
    portal: 'resend',
    access: 'developer',
    handle: async ({ project, query, scope, by, beside }, _request, reply) => {
      const filter = await batchEventFilter(context, project, query);
      const scoped = scopedReplay(onlyNamed(filter, query), scope);
      const only = await sentTo(context, project, { query, within: scoped.only });
      const input: BatchReplay = {
        ...scoped,
        ...(only && { only }),
        ...(ignoresOrder(query) && { ignoresOrder: true }),
      };
      const { isDryRun, rate } = jobOptions(query);
      if (isDryRun) {
        beside['job'] = await dryRunOfEvents(context, project, { input, rate });
        return null;
      }
      const count = (tx: Parameters<typeof countEvents>[0]) => countEvents(tx, project.id, input);
      // The job reads up to its own id. Another node may have given a greater one to an event that was answered before.
      context.ids.pass(await newestEventId(context.db, project.id));
      const job = { type: 'batch_replay', input, count, rate } as const;
      beside['job'] = await startJob(context, { by, reply }, job);
      return null;
    },
  });
  route.get(app, `${path}/countbatchreplayevents`, {
    id: 'countBatchReplayEvents',
    summary: 'Count the events that a batch replay with these filters would send.',
    query: Type.Object({ ...ignoredPageQuery, ...eventFilterQuery }),
    message: 'Events counted',
    data: Type.Object({ num: Type.Integer() }),
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const filter = scopedReplay(await batchEventFilter(context, project, query), scope);
      return { num: await db.reading(project.id, (tx) => countEvents(tx, project.id, filter)) };
    },
  });
}

function onlyNamed(filter: EventFilter, query: Call<unknown>['query']): BatchReplay {
  if (queryFlag(query, 'only_endpoint') !== true) return filter;
  const { endpointIds = [] } = filter;
  if (endpointIds.length === 0) throw badQuery('only_endpoint', 'also needs endpointId or ownerId');
  return { ...filter, only: endpointIds };
}

/** A portal replays events of its owner's endpoints, to those endpoints only. */
function scopedReplay(filter: BatchReplay, scope: EndpointScope | undefined): BatchReplay {
  if (scope === undefined) return filter;
  const owned = [...scope.endpointIds];
  const named = filter.endpointIds ?? [];
  const wanted = named.length === 0 ? owned : owned.filter((id) => named.includes(id));
  // An empty list would mean every endpoint. An id that no endpoint has means none.
  const endpointIds = wanted.length === 0 ? [''] : wanted;
  return { ...filter, endpointIds, eventTypes: scope.eventTypes, only: wanted };
}

async function readEvent(
  context: ReadContext,
  project: ProjectRow,
  { id, scope }: { id: string; scope: EndpointScope | undefined },
): Promise<Static<typeof WholeEvent>> {
  const row = found(await getEvent(context.db, project.id, id, scope), 'event', id);
  const ids = row.endpoints.filter((endpointId) => inScope(scope, endpointId));
  const [byId, showEndpoint] = await Promise.all([
    context.endpoints.byIds(context.db, project.id, ids),
    endpointView(context, project.id, ids),
  ]);
  const endpoints = ids.flatMap((endpointId) => byId.get(endpointId) ?? []);
  const routing = await context.cache.get(project.id);
  return {
    ...toEvent(row, routing),
    endpoint_metadata: endpoints.flatMap((one) => shownOrNull(() => showEndpoint(one)) ?? []),
  };
}
