import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { recordsFor } from '../../domain/config/subscription.ts';
import { visible } from '../../domain/endpoint-scope.ts';
import { AppError, found } from '../../domain/errors.ts';
import { asId, type EndpointId } from '../../domain/ids.ts';
import { payloadText } from '../../domain/payload-text.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { explainSubscription } from '../../routing/explain-match.ts';
import type { FunctionRequest } from '../../routing/function-request.ts';
import { hideInJson } from '../../routing/hidden-variables.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { type RoutedSubscription, routeSubscription } from '../../routing/routed-subscription.ts';
import { type CalledFunction, runFunction } from '../../routing/run-function.ts';
import { type SubscriptionRow, subscriptions } from '../../store/config/subscriptions.ts';
import { latestEvents, type StoredEvent } from '../../store/history/events.ts';
import type { Call } from '../http/call.ts';
import { checkSubscriptionFunction, withoutMaskedCode } from '../http/check-settings.ts';
import type { SendContext } from '../http/context.ts';
import { iso, payloadJson } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { MASK } from '../http/portal-view.ts';
import { filterWarnings } from '../subscriptions/filter-conditions.ts';
import { toVerdict, Verdict } from '../subscriptions/match-explanation.ts';
import { changedSubscriptionFields, limitsOf } from '../subscriptions/subscription-input.ts';
import { Subscription, UpdateSubscription } from '../subscriptions/subscription-schema.ts';
import { explainedEvent } from './explain-event.ts';
import { functionOutcome, shownRequest } from './shown-request.ts';

/**
 * Previews a subscription after a change, on the latest events of its types. Nothing is saved or sent. A
 * function gets the same random numbers and clock as in a delivery of the event, so the preview equals the
 * real body. Events are processed one by one, newest first, until one of the bounds is reached. The response
 * names that bound.
 */
const path = '/api/v1/projects/:projectID/subscriptions/:subscriptionID/preview';
const MAX_MS = 5_000;
const MAX_BYTES = 8 * 1024 * 1024;
const DEFAULT_EVENTS = 20;
const MAX_EVENTS = 100;

const PreviewSubscription = Type.Object({
  filter_config: UpdateSubscription.properties.filter_config,
  function: UpdateSubscription.properties.function,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_EVENTS,
      description: `How many of the latest events of the types subscribed to; ${DEFAULT_EVENTS} by default.`,
    }),
  ),
});

const NullableJson = (description: string) => Type.Unsafe<RawJson | null>({ description });

const PreviewedEvent = Type.Object({
  event_id: Type.String(),
  event_type: Type.String(),
  acknowledged_at: Type.String({ format: 'date-time' }),
  ...Verdict.properties,
  before: NullableJson('The payload, if it matched and there is a function; else null.'),
  after: NullableJson('The result of the function; null if it fails or there is none.'),
  function_error: nullable(Type.String()),
  ...functionOutcome,
});

const Preview = Type.Object({
  matched: Type.Integer({ description: 'How many of the events would be delivered.' }),
  cut: nullable(
    oneOf(['time', 'bytes']),
    `Set if older events were omitted: after ${MAX_MS / 1000} s, or ${MAX_BYTES} bytes of payloads.`,
  ),
  events: Type.Array(PreviewedEvent, { description: 'Newest first.' }),
});

export function registerPreviewSubscription(app: FastifyInstance, context: SendContext): void {
  operationsOf('Subscriptions').post(app, path, {
    id: 'previewSubscription',
    summary:
      'Preview a changed filter or function on the latest events of its types. Nothing is saved or sent.',
    body: PreviewSubscription,
    message: 'Subscription previewed',
    data: Preview,
    resource: Subscription,
    warn: ({ filter_config }) => filterWarnings(filter_config?.filter, 'filter_config.filter'),
    portal: 'read',
    access: 'developer',
    handle: (call) => preview(context, call),
  });
}

async function preview(
  context: SendContext,
  { project, params, body: given, scope }: Call<Static<typeof PreviewSubscription>, typeof path>,
): Promise<Static<typeof Preview>> {
  const { db, cache, now } = context;
  const id = params.subscriptionID;
  const known = await subscriptions.get(db, project.id, id);
  const row = found(
    visible(scope, known, (subscription) => subscription.endpoint_id),
    'subscription',
    id,
  );
  const body = withoutMaskedCode(given);
  await checkSubscriptionFunction(context, { projectId: project.id, code: body.function ?? '' });
  const fields = changedSubscriptionFields(row, body, limitsOf(context, project));
  const uid = () => context.ids.next();
  const filters = recordsFor(fields.event_types, fields.filters ?? [], { uid, enabledAt: iso(now()) });
  // Treated as active, so that an inactive one can be previewed before it is activated.
  const endpoint_id = asId<EndpointId>(fields.endpoint_id);
  const changed: SubscriptionRow = { ...row, ...fields, endpoint_id, filters, status: 'active' };
  const limit = body.limit ?? DEFAULT_EVENTS;
  const wanted = { eventTypes: fields.event_types, limit, maxBytes: MAX_BYTES, scope };
  const { events, isCut } = await latestEvents(db, project.id, wanted);
  const routing = await cache.refresh(project.id);
  // A link must not see variables, not even in the result of a function that does.
  const isPortals = row.is_portal_function && fields.function === row.function;
  const seesVariables = scope === undefined && !isPortals;
  const variables = seesVariables ? project.variables.reveal() : {};
  const tried = await tryAll(context, routeSubscription(changed, project.config), {
    events,
    routing,
    variables,
  });
  return {
    matched: tried.events.filter((event) => event.matched).length,
    cut: tried.cut ?? (isCut ? 'bytes' : null),
    events: scope === undefined ? tried.events : tried.events.map(withoutHeaderValues),
  };
}

type Tried = Static<typeof PreviewedEvent>;

/** Portals do not see the values of an event's headers, so an explanation must not reveal them. */
function withoutHeaderValues(event: Tried): Tried {
  if (event.clause?.scope !== 'headers') return event;
  const reason = 'A condition on the headers fails.';
  return { ...event, reason, clause: { ...event.clause, actual: MASK, reason } };
}

interface Trial {
  events: readonly StoredEvent[];
  routing: ProjectRouting;
  variables: Readonly<Record<string, string>>;
}

async function tryAll(
  context: SendContext,
  subscription: RoutedSubscription,
  { events, routing, variables }: Trial,
): Promise<{ events: Tried[]; cut: 'time' | 'bytes' | null }> {
  const endsAt = performance.now() + MAX_MS;
  const shown: Tried[] = [];
  let bytes = 0;
  for (const event of events) {
    if (performance.now() > endsAt) return { events: shown, cut: 'time' };
    const verdict = toVerdict(explainSubscription(routing, subscription, explainedEvent(context, event)));
    const isRun = verdict.matched && subscription.row.function !== '';
    const called = { code: subscription.row.function, variables };
    const { after = null, ...made } = isRun ? await runOn(context, called, event) : NOT_RUN;
    bytes += isRun ? event.payload.length + (after?.length ?? 0) : 0;
    const result = after === null ? null : Buffer.from(hideInJson(after.toString(), variables));
    if (bytes > MAX_BYTES && shown.length > 0) return { events: shown, cut: 'bytes' };
    shown.push({
      event_id: event.id,
      event_type: event.event_type,
      acknowledged_at: iso(event.acknowledged_at),
      ...verdict,
      before: isRun ? payloadJson(event.payload, event.content_type) : null,
      after: result === null ? null : new RawJson(result.toString(), result),
      function_error: made.error ?? null,
      request: shownRequest(made.request ?? null, routing.project.config),
      cancelled: made.cancelled ?? null,
    });
  }
  return { events: shown, cut: null };
}

interface Made {
  /** JSON. Absent: the function failed, or cancelled the delivery. */
  after?: Buffer;
  request?: FunctionRequest | null;
  cancelled?: string;
  error?: string;
}

const NOT_RUN: Made = {};

async function runOn({ sandbox }: SendContext, called: CalledFunction, event: StoredEvent): Promise<Made> {
  const { payload: body, content_type: contentType } = event;
  const run = await runFunction(sandbox, called, {
    eventId: event.id,
    projectId: event.project_id,
    eventType: event.event_type,
    body,
    contentType,
  });
  switch (run.kind) {
    case 'made':
      return { after: run.body ?? Buffer.from(payloadText(body, contentType)), request: run.request };
    case 'cancelled':
      return { cancelled: run.reason };
    case 'failed':
      return { error: run.reason };
    case 'unavailable':
      throw new AppError('overloaded', { retry: 1 });
  }
}
