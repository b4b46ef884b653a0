import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { AppError, invalid } from '../../domain/errors.ts';
import type { GroupResult } from '../../ingest/accept-event.ts';
import type { NewEvent } from '../../ingest/new-event.ts';
import { cutItems } from '../../platform/json/raw-json.ts';
import type { EventTarget } from '../../routing/project-routing.ts';
import type { Call } from '../http/call.ts';
import type { ApiContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { refuseIfAny, resultOf } from './batch-results.ts';
import { BatchEvents, type BatchResult, BatchResults, UncheckedBatch } from './batch-schema.ts';
import { type CheckedEvent, eventChecker } from './check-event.ts';
import { directTarget } from './direct-target.ts';
import { dynamicTarget } from './dynamic-target.ts';
import type { DynamicEvent } from './event-schema.ts';
import { newEvent } from './new-event.ts';

/*
 * Many events in one call. Each event is checked as a call with it alone would be, then the config that is missing is made
 * (a subscription of a direct event, the endpoint of a dynamic one), then all are stored in one commit. An event that is
 * refused on this way takes no further part. With `all_or_nothing` the first refusals end the call, before the next step.
 */
type BatchCall = Call<Static<typeof UncheckedBatch>>;
type Target = () => Promise<EventTarget>;

/** An event on its way, with what makes its target if it has none yet, or why it was refused. */
type Entry = { event: NewEvent; target: Target | null } | AppError;

/** After so many events other work has its turn. */
const CHECKED_AT_ONCE = 100;

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
      return { results: await sendAll(context, call, check) };
    },
  });
}

async function sendAll(
  context: ApiContext,
  call: BatchCall,
  check: ReturnType<typeof eventChecker>,
): Promise<Static<typeof BatchResult>[]> {
  const isAllOrNothing = call.body.all_or_nothing ?? false;
  const entries = await checkedEntries(context, call, check);
  if (isAllOrNothing) refuseIfAny(entries);
  const events = await withTargets(entries);
  if (isAllOrNothing) refuseIfAny(events);
  const accepted = events.filter((event) => !(event instanceof AppError)) as NewEvent[];
  const stored = (await context.acceptor.acceptGroup(accepted, { isAllOrNothing })).values();
  const outcomes = events.map((event) =>
    event instanceof AppError ? event : (stored.next().value as GroupResult),
  );
  if (isAllOrNothing) refuseIfAny(outcomes);
  return outcomes.map(resultOf);
}

async function checkedEntries(
  context: ApiContext,
  call: BatchCall,
  check: ReturnType<typeof eventChecker>,
): Promise<Entry[]> {
  const texts = cutItems(call.bodyText, 'events');
  // With two keys of this name the parser may have taken the other one.
  if (texts.length !== call.body.events.length) throw invalid('events', 'is given twice');
  const targetOf = targets(context, call);
  const { project, trace } = call;
  const entries: Entry[] = [];
  for (const [n, given] of call.body.events.entries()) {
    if (n > 0 && n % CHECKED_AT_ONCE === 0) await nextTurn();
    const entry = async (): Promise<Entry> => {
      const text = texts[n] ?? '';
      const checked = check(given, text);
      const alone = { project, trace, body: checked.body, bodyText: text, idempotencyKey: undefined };
      const target = await targetOf(checked);
      if (typeof target !== 'function')
        return { event: await newEvent(context, alone, target), target: null };
      return { event: await newEvent(context, alone, { kind: 'broadcast' }), target };
    };
    entries.push(await orRefused(entry));
  }
  return entries;
}

/** Where each event goes. Events for one URL with the same settings make its endpoint once. */
function targets(
  context: ApiContext,
  call: BatchCall,
): (event: CheckedEvent) => EventTarget | Promise<Target> {
  const { project, actor } = call;
  const made = new Map<string, { asked: string; target: Promise<EventTarget> }>();
  const dynamic = async (body: Static<typeof DynamicEvent>): Promise<Target> => {
    const make = await dynamicTarget(context, { project, actor }, body);
    const asked = JSON.stringify([body.secret, body.event_types]);
    return () => {
      const known = made.get(body.url);
      if (known?.asked === asked) return known.target;
      const target = make();
      made.set(body.url, { asked, target });
      return target;
    };
  };
  return ({ kind, body }) => {
    if (kind === 'broadcast') return { kind };
    if (kind === 'fanout') return { kind: 'owner', ownerId: body.owner_id };
    return kind === 'dynamic'
      ? dynamic(body)
      : directTarget(context, { project, actor, scope: undefined }, body);
  };
}

async function withTargets(entries: readonly Entry[]): Promise<(NewEvent | AppError)[]> {
  const events: (NewEvent | AppError)[] = [];
  for (const entry of entries) {
    if (entry instanceof AppError) events.push(entry);
    else if (entry.target === null) events.push(entry.event);
    else {
      const { event, target } = entry;
      events.push(await orRefused(async () => ({ ...event, target: await target() })));
    }
  }
  return events;
}

/** Only what is wrong with the event itself refuses it alone. */
async function orRefused<T>(work: () => Promise<T>): Promise<T | AppError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.status < 429) return error;
    throw error;
  }
}
