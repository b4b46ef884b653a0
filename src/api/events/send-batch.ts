import type { Static } from 'typebox';
import { requireEventTypes } from '../../domain/endpoint-scope.ts';
import { AppError, type FieldProblem } from '../../domain/errors.ts';
import type { GroupResult } from '../../ingest/accept-event.ts';
import type { NewEvent } from '../../ingest/new-event.ts';
import { nextTurn } from '../../platform/time/next-turn.ts';
import type { EventTarget } from '../../routing/project-routing.ts';
import { ConsentAsks } from '../endpoints/ask-consent.ts';
import type { Call, EventPayload } from '../http/call.ts';
import type { ApiContext, SendContext } from '../http/context.ts';
import type { BatchResult } from './batch-schema.ts';
import type { CheckedEvent } from './check-event.ts';
import type { DynamicEvent } from './event-schema.ts';
import type { WantedTarget } from './event-targets.ts';
import { directTarget, dynamicTarget } from './event-targets.ts';
import { newEvent } from './new-event.ts';

/*
 * Many events in one call. Each event is checked as a call with it alone would be, then the config that is missing is made
 * (a subscription of a direct event, the endpoint of a dynamic one), then all are stored in one commit. An event that is
 * refused on this way takes no further part. With `all_or_nothing` the first refusals end the call, before the next step.
 */
type BatchCall = Pick<Call<unknown>, 'project' | 'trace' | 'actor' | 'scope'>;
type Target = Pick<WantedTarget, 'make' | 'changes'>;

/** An event of a call with many. */
export interface BatchItem {
  /** Throws if it has not the form of its kind. */
  check(): CheckedEvent | Promise<CheckedEvent>;
  /** Its JSON. */
  text: string;
  /** The data of a CloudEvent. */
  payload?: EventPayload;
}

/** An event on its way, with what makes its target if it has none yet, or why it was refused. */
type Entry = { event: NewEvent; target: Target | null } | AppError;

/** After so many events other work has its turn. */
const CHECKED_AT_ONCE = 100;
/** New URLs that a call asks for their consent, one after another. */
const MOST_ASKED = 10;

export async function sendBatch(
  context: ApiContext,
  call: BatchCall,
  { items, isAllOrNothing }: { items: readonly BatchItem[]; isAllOrNothing: boolean },
): Promise<Static<typeof BatchResult>[]> {
  const entries = await checkedEntries(context, call, items);
  if (isAllOrNothing) refuseIfAny(entries);
  const fitting = await fittingEntries(context, entries, isAllOrNothing);
  if (isAllOrNothing) refuseIfAny(fitting);
  const events = await withTargets(fitting);
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
  items: readonly BatchItem[],
): Promise<Entry[]> {
  const targetOf = targets(context, call);
  const { project, trace } = call;
  const entries: Entry[] = [];
  for (const [n, item] of items.entries()) {
    if (n > 0 && n % CHECKED_AT_ONCE === 0) await nextTurn();
    const entry = async (): Promise<Entry> => {
      const checking = item.check();
      const checked = checking instanceof Promise ? await checking : checking;
      const { text: bodyText, payload } = item;
      const alone = { project, trace, body: checked.body, bodyText, payload, idempotencyKey: undefined };
      const target = await targetOf(checked);
      if ('kind' in target) return { event: await newEvent(context, alone, target), target: null };
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
  const { project, actor, scope } = call;
  const asks = new ConsentAsks(MOST_ASKED);
  const made = new Map<string, { asked: string; target: Promise<EventTarget> }>();
  const dynamic = async (body: Static<typeof DynamicEvent>): Promise<Target> => {
    const { make, changes } = await dynamicTarget(context, { project, actor, asks }, body);
    const asked = JSON.stringify([body.secret, body.event_types]);
    const makeOnce = () => {
      const known = made.get(body.url);
      if (known?.asked === asked) return known.target;
      const target = make();
      made.set(body.url, { asked, target });
      return target;
    };
    return { make: makeOnce, changes };
  };
  return ({ kind, body }) => {
    if (kind === 'broadcast') return { kind };
    if (kind === 'fanout') return { kind: 'owner', ownerId: body.owner_id };
    if (kind === 'dynamic') return dynamic(body);
    requireEventTypes(scope, [body.event_type]);
    return directTarget(context, { project, actor, scope }, body);
  };
}

/** No config is made for an event that its schema refuses, nor for the others where it refuses the call. */
async function fittingEntries(
  { acceptor }: SendContext,
  entries: readonly Entry[],
  isAllOrNothing: boolean,
): Promise<readonly Entry[]> {
  const changesConfig = (entry: Entry) =>
    !(entry instanceof AppError) && (entry.target?.changes.length ?? 0) > 0;
  if (!entries.some(changesConfig)) return entries;
  const fitting: Entry[] = [];
  for (const entry of entries) {
    const isChecked = !(entry instanceof AppError) && (isAllOrNothing || changesConfig(entry));
    const refusal = isChecked ? await orRefused(() => acceptor.refuseUnfit(entry.event)) : undefined;
    fitting.push(refusal ?? entry);
  }
  return fitting;
}

async function withTargets(entries: readonly Entry[]): Promise<(NewEvent | AppError)[]> {
  const events: (NewEvent | AppError)[] = [];
  for (const entry of entries) {
    if (entry instanceof AppError) events.push(entry);
    else if (entry.target === null) events.push(entry.event);
    else {
      const { event, target } = entry;
      events.push(await orRefused(async () => ({ ...event, target: await target.make() })));
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

/** A refusal of the whole call names so many events in its message, and all of them in its fields. */
const NAMED = 20;

function resultOf(outcome: GroupResult, index: number): Static<typeof BatchResult> {
  if (outcome instanceof AppError) {
    const message = problemsOf(outcome, index).map(textOf).join('; ');
    return { status: 'refused', uid: '', duplicate_of: '', code: outcome.code, message };
  }
  const { event, isDuplicate, duplicateOf, warnings = [] } = outcome;
  const status = isDuplicate ? 'duplicate' : 'stored';
  return { status, uid: event.id, duplicate_of: duplicateOf ?? '', code: '', message: warnings.join('; ') };
}

/** Refuses the whole call. A limit of the project or a source is a reason to try again, and no fault of an event. */
function refuseIfAny(outcomes: readonly unknown[]): void {
  const limited = outcomes.find((one) => one instanceof AppError && one.code === 'rate_limited');
  if (limited instanceof AppError) throw limited;
  const fields = outcomes.flatMap((one, n) => (one instanceof AppError ? problemsOf(one, n) : []));
  if (fields.length === 0) return;
  const more = fields.length > NAMED ? `; and ${fields.length - NAMED} more` : '';
  const text = fields.slice(0, NAMED).map(textOf).join('; ');
  throw new AppError('validation_failed', { fields: `${text}${more}` }, { fields });
}

/** The fields of a refusal, as those of the whole call. */
function problemsOf({ fields, message, params }: AppError, index: number): FieldProblem[] {
  const at = `events[${index}]`;
  const inside = (field: string) => (field === '' ? at : `${at}.${field}`);
  if (fields.length > 0) return fields.map(({ field, problem }) => ({ field: inside(field), problem }));
  const field = params['field'];
  if (typeof field !== 'string') return [{ field: at, problem: message }];
  return [{ field: inside(field), problem: message.replace(`${field}: `, '') }];
}

const textOf = ({ field, problem }: FieldProblem): string => `${field}: ${problem}`;
