import {
  type DeliveryStatus,
  deliveryGates,
  deliveryStatuses,
  errorCodes,
  NOT_SENT,
  type OutcomeFilter,
  parseOutcomes,
} from '../../domain/delivery.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { badQuery } from '../../domain/errors.ts';
import { queryFlag, queryValue, queryValues, queryWords } from '../../domain/pagination.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { RoutedEndpoint } from '../../routing/project-routing.ts';
import { gateSets } from '../../routing/waiting-for.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { DeliveryFilter } from '../../store/history/event-deliveries.ts';
import { NO_ENDPOINT, ofOwner, searchFrom } from '../events/event-filter.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, dateRange, queryTime, Repeated } from '../http/fields.ts';

export const deliveryFilterQuery = {
  ...dateQuery,
  deliveryId: Repeated('Only these deliveries.'),
  endpointId: Repeated('Only deliveries to these endpoints.'),
  eventId: Type.Optional(Type.String()),
  subscriptionId: Type.Optional(Type.String()),
  eventType: Type.Optional(Type.String({ description: '`event_type` is another spelling.' })),
  status: Repeated('Only deliveries in these states.', oneOf(deliveryStatuses)),
  endedSince: Type.Optional(
    Type.String({
      description: 'Only deliveries that ended at or after this time, in the form of startDate.',
    }),
  ),
  cancelled: Type.Optional(Type.Boolean({ description: 'Whether they were cancelled.' })),
  ownerId: Type.Optional(Type.String({ description: 'Only deliveries to endpoints of this owner.' })),
  outcome: Repeated(
    'Only deliveries whose last attempt had one of these results: `http_503`, `http_5xx`, `timeout` and the like, or `not_sent` for deliveries without an attempt.',
  ),
  waitingFor: Repeated('Only open deliveries that wait for one of these.', oneOf(deliveryGates)),
  query: Type.Optional(
    Type.String({
      description:
        'Part of the event type, the description, or the name, URL or owner of the endpoint, or the beginning of the id; or a complete id of a delivery or event.',
    }),
  ),
  idempotencyKey: Type.Optional(Type.String()),
  brokerMessageId: Type.Optional(Type.String()),
};

/** Other names that clients use. Generators would make one name of both, so the OpenAPI document does not declare them. */
export const deliveryFilterAliases: readonly string[] = ['event_type'];

/** The filter of a request, within the scope of its caller. */
export async function deliveryFilter(
  context: ReadContext,
  { project, scope }: { project: ProjectRow; scope: EndpointScope | undefined },
  query: Call<unknown>['query'],
): Promise<DeliveryFilter> {
  const subscriptionId = queryValue(query, 'subscriptionId');
  const asked = queryValues(query, 'endpointId');
  // A subscription has one endpoint, and there is an index by endpoint.
  const named = asked.length === 0 ? await endpointOf(context, project, subscriptionId) : asked;
  const ownerId = queryValue(query, 'ownerId');
  const endpointIds =
    ownerId === undefined ? named : await ofOwner(context, project, { ownerId, endpointIds: named });
  const text = queryValue(query, 'query')?.trim() || undefined;
  const dates = dateRange(query);
  return {
    fromMs: dates.fromMs ?? (text === undefined ? undefined : searchFrom(context, project)),
    toMs: dates.toMs,
    ids: queryValues(query, 'deliveryId'),
    endpointIds: withinScope(scope, endpointIds),
    eventTypes: scope?.eventTypes ?? [],
    eventId: queryValue(query, 'eventId'),
    subscriptionId,
    eventType: queryValue(query, 'eventType') ?? queryValue(query, 'event_type'),
    statuses: queryWords(query, 'status', deliveryStatuses),
    endedFromMs: queryTime(query, 'endedSince'),
    isCancelled: queryFlag(query, 'cancelled'),
    outcomes: outcomes(query),
    gates: await gates(context, project, query),
    text,
    textEndpointIds: text === undefined ? [] : await endpointsNamed(context, project, text),
    idempotencyKey: queryValue(query, 'idempotencyKey'),
    brokerMessageId: queryValue(query, 'brokerMessageId'),
  };
}

function outcomes(query: Call<unknown>['query']): OutcomeFilter | undefined {
  const wanted = queryValues(query, 'outcome');
  if (wanted.length === 0) return undefined;
  const parsed = parseOutcomes(wanted);
  if (parsed === null)
    throw badQuery(
      'outcome',
      `must be a status such as http_503 or http_5xx, ${NOT_SENT}, or one of ${errorCodes.join(', ')}`,
    );
  return parsed;
}

async function gates(
  context: ReadContext,
  project: ProjectRow,
  query: Call<unknown>['query'],
): Promise<DeliveryFilter['gates']> {
  const names = queryWords(query, 'waitingFor', deliveryGates);
  if (names.length === 0) return undefined;
  return { names, sets: gateSets(await context.cache.get(project.id), context.now()) };
}

async function endpointsNamed(context: ReadContext, project: ProjectRow, text: string): Promise<string[]> {
  const { endpoints } = await context.cache.get(project.id);
  const wanted = text.toLowerCase();
  const isNamed = ({ row }: RoutedEndpoint) =>
    [row.name, row.url, row.owner_id].some((value) => value.toLowerCase().includes(wanted));
  return [...endpoints.values()].filter(isNamed).map(({ row }) => row.id);
}

function withinScope(scope: EndpointScope | undefined, endpointIds: string[]): string[] {
  if (scope === undefined) return endpointIds;
  const all = [...scope.endpointIds];
  const seen = endpointIds.length === 0 ? all : all.filter((id) => endpointIds.includes(id));
  return seen.length === 0 ? [NO_ENDPOINT] : seen;
}

async function endpointOf(
  context: ReadContext,
  project: ProjectRow,
  subscriptionId: string | undefined,
): Promise<string[]> {
  if (subscriptionId === undefined) return [];
  const { subscriptions } = await context.cache.get(project.id);
  return [subscriptions.get(subscriptionId)?.row.endpoint_id ?? []].flat();
}

/** A filter limited to the states of an action. Without states in the request, all of these. */
export function onlyStatuses(
  filter: DeliveryFilter,
  allowed: readonly DeliveryStatus[],
  hint: string,
): DeliveryFilter {
  const asked = filter.statuses ?? [];
  const statuses = asked.length === 0 ? [...allowed] : asked.filter((status) => allowed.includes(status));
  if (statuses.length === 0) throw badQuery('status', hint);
  return { ...filter, statuses };
}
