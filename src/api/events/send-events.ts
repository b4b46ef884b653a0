import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static, TObject } from 'typebox';
import { requireEventTypes } from '../../domain/endpoint-scope.ts';
import { badQuery, invalid } from '../../domain/errors.ts';
import { queryFlag } from '../../domain/pagination.ts';
import { CloudBatch } from '../../ingest/cloudevents/cloud-batch.ts';
import { cutItems } from '../../platform/json/cut-json.ts';
import { Type } from '../../platform/type.ts';
import type { Call } from '../http/call.ts';
import type { ApiContext } from '../http/context.ts';
import { type Operation, operationsOf } from '../http/operation.ts';
import { BatchEvents, BatchResults, type EventKind, singleCalls, UncheckedBatch } from './batch-schema.ts';
import { eventChecker } from './check-event.ts';
import { cloudBody, cloudItems, targetQuery } from './cloud-body.ts';
import { dryRunOfEvent, EventDryRun } from './dry-run-event.ts';
import { acceptedEvent, type BroadcastEvent, Event } from './event-schema.ts';
import { directTarget, dynamicTarget, fixedTarget, type WantedTarget } from './event-targets.ts';
import { newEvent, timesOf } from './new-event.ts';
import { sendBatch } from './send-batch.ts';

const path = '/api/v1/projects/:projectID/events';
const route = operationsOf('Events');

type EventCall = Call<Static<typeof BroadcastEvent>>;
type Answer = Static<typeof Event> | Static<typeof BatchResults> | Static<typeof EventDryRun>;
/** Portal callers see an event by this schema. The other answers have none of its fields that are masked. */
const Answer = Type.Unsafe<Answer>(Event);

/** The calls that send one event, or the CloudEvents of a batch. */
export function registerSending(app: FastifyInstance, context: ApiContext): void {
  const check = eventChecker(app);
  const call = <Kind extends EventKind>(
    kind: Kind,
    target: (call: Call<Static<(typeof singleCalls)[Kind]>>) => WantedTarget | Promise<WantedTarget>,
  ) => ({
    ...sharedParts(kind),
    body: singleCalls[kind] as (typeof singleCalls)[Kind] & TObject,
    handle: async (
      given: Call<Static<(typeof singleCalls)[Kind]>>,
      request: FastifyRequest,
    ): Promise<Answer> => {
      if (given.body instanceof CloudBatch) return { results: await sendAll(given, given.body, kind) };
      const event = given as EventCall;
      const wanted = await target(given);
      const made = await newEvent(context, event, wanted.known ?? { kind: 'broadcast' });
      if (isDryRun(event)) {
        const tried = await dryRunOfEvent(context, made, { target: wanted, scope: event.scope });
        request.warnings = [...(request.warnings ?? []), ...tried.warnings];
        return tried.data;
      }
      if (wanted.changes.length > 0) await context.acceptor.refuseUnfit(made);
      const accepted = await context.acceptor.accept({ ...made, target: await wanted.make() });
      if (accepted.warnings !== undefined)
        request.warnings = [...(request.warnings ?? []), ...accepted.warnings];
      return acceptedEvent(accepted, await context.cache.get(event.project.id));
    },
  });
  /** Senders of CloudEvents look at the status only, so that a batch is stored as a whole or not at all. */
  const sendAll = (given: Call<unknown>, batch: CloudBatch, kind: EventKind) => {
    if (isDryRun(given)) throw badQuery('dry_run', 'is for one event, not for a batch');
    if (given.idempotencyKey !== undefined)
      throw invalid('Idempotency-Key', 'is not taken with a batch; each event has its own source and id');
    const items = cloudItems(batch, kind, { query: given.query, check, jsonBounds: app.jsonBounds });
    return sendBatch(context, given, { items, isAllOrNothing: true });
  };
  route.post(app, `${path}/broadcast`, {
    id: 'broadcastEvent',
    summary: 'Send an event to every endpoint whose subscription matches its type.',
    message: 'Event broadcast',
    ...call('broadcast', () => fixedTarget({ kind: 'broadcast' })),
  });
  route.post(app, path, {
    id: 'createEvent',
    summary: 'Send an event to one endpoint.',
    message: 'Event created',
    portal: 'create_events',
    ...call('direct', (given) => {
      requireEventTypes(given.scope, [given.body.event_type]);
      timesOf(context, given);
      return directTarget(context, given, given.body);
    }),
  });
  route.post(app, `${path}/fanout`, {
    id: 'fanoutEvent',
    summary: 'Send an event to the endpoints of an owner.',
    message: 'Event fanned out',
    ...call('fanout', ({ body }) => fixedTarget({ kind: 'owner', ownerId: body.owner_id })),
  });
  route.post(app, `${path}/dynamic`, {
    id: 'dynamicEvent',
    summary: 'Send an event to a URL. Creates an endpoint for the URL if there is none.',
    message: 'Dynamic event created',
    ...call('dynamic', (given) => {
      timesOf(context, given);
      return dynamicTarget(context, given, given.body);
    }),
  });
}

const isDryRun = ({ query }: Pick<Call<unknown>, 'query'>): boolean => queryFlag(query, 'dry_run') ?? false;

/** The parts that these calls share. */
function sharedParts(kind: EventKind) {
  return {
    query: Type.Object({
      dry_run: Type.Optional(
        Type.Boolean({ description: 'Say who would get the event. Nothing is stored or sent.' }),
      ),
      ...targetQuery(kind),
    }),
    carriesPayload: true,
    fromCloudEvents: cloudBody(kind),
    status: 201,
    variant: (call: Pick<Call<unknown>, 'body' | 'query'>) => {
      if (isDryRun(call)) return { status: 200, message: 'Dry run: nothing was stored' };
      return call.body instanceof CloudBatch ? { status: 200, message: 'CloudEvents stored' } : undefined;
    },
    data: Answer,
    dataByStatus: { 201: Event, 200: Type.Union([EventDryRun, BatchResults]) },
    access: 'developer',
  } as const satisfies Partial<Operation<TObject, typeof Answer>>;
}

export function registerBatch(app: FastifyInstance, context: ApiContext): void {
  const check = eventChecker(app);
  operationsOf('Events').post(app, '/api/v1/projects/:projectID/events/batch', {
    id: 'batchEvents',
    summary: 'Send up to 1,000 events. One that is refused does not keep the others from being stored.',
    acts: true,
    body: UncheckedBatch,
    documentedBody: BatchEvents,
    message: 'Events stored',
    data: BatchResults,
    access: 'developer',
    handle: async (call) => {
      if (call.idempotencyKey !== undefined)
        throw invalid('Idempotency-Key', 'is not taken here; each event has its own idempotency_key');
      const { events, all_or_nothing: isAllOrNothing = false } = call.body;
      const texts = cutItems(call.bodyText, 'events');
      // With two keys of this name the parser may have taken the other one.
      if (texts.length !== events.length) throw invalid('events', 'is given twice');
      const items = events.map((given, n) => {
        const text = texts[n] ?? '';
        return { text, check: () => check(given, text) };
      });
      return { results: await sendBatch(context, call, { items, isAllOrNothing }) };
    },
  });
}
