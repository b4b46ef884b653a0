import { Type } from 'typebox';
import { type DeliveryStatus, deliveryStatuses, isDeliveryStatus } from '../../domain/delivery.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { AppError } from '../../domain/errors.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { DeliveryFilter } from '../../store/history/event-deliveries.ts';
import type { ApiContext } from '../http/context.ts';
import { dateQuery, dateRange, oneOf, Repeated } from '../http/fields.ts';
import type { Call } from '../http/operation.ts';

export const deliveryFilterQuery = {
  ...dateQuery,
  endpointId: Repeated('Only deliveries to these endpoints.'),
  eventId: Type.Optional(Type.String()),
  subscriptionId: Type.Optional(Type.String()),
  eventType: Type.Optional(Type.String()),
  status: Repeated('Only deliveries in these states.', oneOf(deliveryStatuses)),
  idempotencyKey: Type.Optional(Type.String()),
  brokerMessageId: Type.Optional(Type.String()),
};

/** Other names that clients use. They are accepted, and not in the OpenAPI document. */
export const deliveryFilterNames: ReadonlySet<string> = new Set([
  ...Object.keys(deliveryFilterQuery),
  'event_type',
]);

/** No endpoint has this id. It means "no endpoint at all", because an empty list means "any". */
const NO_ENDPOINT = '';

/** The filter of a request, within the scope of its caller. */
export async function deliveryFilter(
  context: ApiContext,
  { project, scope }: { project: ProjectRow; scope: EndpointScope | undefined },
  query: Call<unknown>['query'],
): Promise<DeliveryFilter> {
  const subscriptionId = queryValue(query, 'subscriptionId');
  const asked = queryValues(query, 'endpointId');
  // A subscription has one endpoint, and there is an index by endpoint.
  const endpointIds = asked.length === 0 ? await endpointOf(context, project, subscriptionId) : asked;
  const wanted = queryValues(query, 'status');
  const statuses = wanted.filter(isDeliveryStatus);
  const unknown = wanted.find((status) => !isDeliveryStatus(status));
  if (unknown !== undefined)
    throw new AppError('bad_query', {
      name: 'status',
      detail: `"${unknown}" is not one of ${deliveryStatuses.join(', ')}`,
    });
  return {
    ...dateRange(query),
    endpointIds: withinScope(scope, endpointIds),
    eventTypes: scope?.eventTypes ?? [],
    eventId: queryValue(query, 'eventId'),
    subscriptionId,
    eventType: queryValue(query, 'eventType') ?? queryValue(query, 'event_type'),
    statuses,
    idempotencyKey: queryValue(query, 'idempotencyKey'),
    brokerMessageId: queryValue(query, 'brokerMessageId'),
  };
}

function withinScope(scope: EndpointScope | undefined, endpointIds: string[]): string[] {
  if (scope === undefined) return endpointIds;
  const all = [...scope.endpointIds];
  const seen = endpointIds.length === 0 ? all : all.filter((id) => endpointIds.includes(id));
  return seen.length === 0 ? [NO_ENDPOINT] : seen;
}

async function endpointOf(
  context: ApiContext,
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
  if (statuses.length === 0) throw new AppError('bad_query', { name: 'status', detail: hint });
  return { ...filter, statuses };
}
