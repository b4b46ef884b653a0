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

/** Names that clients use for the same. They are taken, and left out of the OpenAPI document. */
export const deliveryFilterNames: ReadonlySet<string> = new Set([
  ...Object.keys(deliveryFilterQuery),
  'event_type',
]);

/** None has this id: stands for "no endpoint at all", where an empty list would mean "any". */
const NO_ENDPOINT = '';

/** What a request asks for, within what its caller may see. */
export async function deliveryFilter(
  context: ApiContext,
  { project, scope }: { project: ProjectRow; scope: EndpointScope | undefined },
  query: Call<unknown>['query'],
): Promise<DeliveryFilter> {
  const subscriptionId = queryValue(query, 'subscriptionId');
  const asked = queryValues(query, 'endpointId');
  // A subscription has one endpoint, and by endpoint there is an index.
  const endpointIds = asked.length === 0 ? await endpointOf(context, project, subscriptionId) : asked;
  const wanted = queryValues(query, 'status');
  const statuses = wanted.filter(isDeliveryStatus);
  const unknown = wanted.find((status) => !isDeliveryStatus(status));
  if (unknown !== undefined)
    throw new AppError('bad_query', {
      name: 'status',
      detail: `"${unknown}" is none of ${deliveryStatuses.join(', ')}`,
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

/** A filter that takes only states an action is for; without states in the request, all of these. */
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
