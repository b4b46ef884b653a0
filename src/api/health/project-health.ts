import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { addressOf } from '../../domain/config/destination.ts';
import { shownStatuses } from '../../domain/config/endpoint.ts';
import { endpointStates, stateFields } from '../../domain/config/endpoint-state.ts';
import { AppError, badQuery } from '../../domain/errors.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { TOTALS, type Totals } from '../../store/counts/subjects.ts';
import { WaitingTotals, waitingTotals } from '../deliveries/open-counts.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, iso, NullableTime, Repeated, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { rangeOf } from '../projects/timeseries.ts';
import { byHarm, type Health, oldestMs, openCount, readHealth } from './endpoint-health.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;
const KINDS = ['endpoint', 'customer'] as const;

export const LastFailure = Type.Object({
  event_delivery_id: Type.String(),
  at: Time,
  outcome: Type.String(),
  description: Type.String({ description: 'The last answer in words.' }),
});

const counts = {
  ...stateFields,
  attempts: Type.Integer({ description: 'Attempts in the window.' }),
  failed_attempts: Type.Integer(),
  failed_share: nullable(
    Type.Number(),
    'Percent of the attempts in the window that failed. Null without attempts.',
  ),
  delivered: Type.Integer({ description: 'Deliveries that ended as Success in the window.' }),
  failed: Type.Integer(),
  discarded: Type.Integer(),
  open: Type.Integer({ description: 'Deliveries that have not ended.' }),
  waiting_for: WaitingTotals,
  oldest_at: NullableTime,
  last_success_at: NullableTime,
  last_failure: nullable(LastFailure),
};

export const EndpointHealth = Type.Object({
  endpoint_id: Type.String(),
  name: Type.String(),
  url: Type.String({ description: 'Its URL, or the address of its broker.' }),
  owner_id: Type.String(),
  status: oneOf(shownStatuses),
  cb_state: Type.String(),
  may_send_now: Type.Boolean({
    description:
      'Whether a call of `sendnow` can make its open deliveries due: it is active and does not pull.',
  }),
  ...counts,
});

export const CustomerHealth = Type.Object({
  owner_id: Type.String({ description: 'Empty: endpoints without a customer.' }),
  endpoints: Type.Integer(),
  failing_endpoints: Type.Integer({ description: 'Endpoints that are failing or disabled.' }),
  worst_endpoint_id: Type.String(),
  worst_endpoint_name: Type.String(),
  ...counts,
});

const ProjectHealth = Type.Object({
  as_of: Time,
  window: Type.Object({ start: Time, end: Time }),
  complete: Type.Boolean({
    description:
      'Whether all open deliveries were counted. If not, `open` and `waiting_for` are lower bounds.',
  }),
  by_state: Type.Object(Object.fromEntries(endpointStates.map((state) => [state, Type.Integer()] as const))),
  endpoints: Type.Array(EndpointHealth, { description: 'The worst first.' }),
  customers: Type.Array(CustomerHealth, { description: 'The worst first. Empty unless asked for.' }),
});

/** How endpoints and customers do now, for the overview and for people who are paged. */
export function registerProjectHealth(app: FastifyInstance, context: ReadContext): void {
  operationsOf('Dashboard').get(app, '/api/v1/projects/:projectID/health', {
    id: 'getHealth',
    summary: 'Get the endpoints or customers in trouble, the worst first, with the cause and what waits.',
    query: Type.Object({
      ...dateQuery,
      by: Type.Optional(oneOf(KINDS, '`endpoint` by default.')),
      endpointId: Repeated('Only these endpoints.'),
      ownerId: Repeated('Only endpoints of these customers.'),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_LIMIT, description: 'How many; 20 by default.' }),
      ),
    }),
    message: 'Health fetched',
    data: ProjectHealth,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      if (scope !== undefined && scope.eventTypes.length > 0)
        throw new AppError('portal_forbidden', { what: 'health' });
      const routing = await context.cache.get(project.id);
      const range = rangeOf(query, context.now());
      const endpointIds = wanted(routing, query).filter((id) => scope?.endpointIds.has(id) ?? true);
      const [limit, by] = [limitOf(query), byOf(query)];
      const { endpoints, isComplete } = await readHealth(context, project.id, { endpointIds, range });
      const all = endpoints.toSorted(byHarm);
      return {
        as_of: iso(context.now()),
        window: { start: iso(range.fromMs), end: iso(range.toMs) },
        complete: isComplete,
        by_state: Object.fromEntries(
          endpointStates.map((state) => [state, all.filter((one) => one.state.state === state).length]),
        ),
        endpoints: by === 'customer' ? [] : all.slice(0, limit).map(toEndpointHealth),
        customers: by === 'customer' ? customersOf(all).slice(0, limit) : [],
      };
    },
  });
}

function limitOf(query: Call<unknown>['query']): number {
  const given = queryValue(query, 'limit');
  if (given === undefined) return DEFAULT_LIMIT;
  const limit = Number(given);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw badQuery('limit', `must be a whole number from 1 to ${MAX_LIMIT}`);
  return limit;
}

function byOf(query: Call<unknown>['query']): (typeof KINDS)[number] {
  const given = queryValue(query, 'by') ?? 'endpoint';
  const by = KINDS.find((kind) => kind === given);
  if (by === undefined) throw badQuery('by', `must be ${KINDS.join(' or ')}`);
  return by;
}

/** Devices are not in it: they come and go. */
function wanted(routing: ProjectRouting, query: Call<unknown>['query']): string[] {
  const ids = new Set(queryValues(query, 'endpointId'));
  const owners = new Set(queryValues(query, 'ownerId'));
  return [...routing.endpoints.values()]
    .map(({ row }) => row)
    .filter(
      (row) =>
        !routing.isDevice(row.id) &&
        (ids.size === 0 || ids.has(row.id)) &&
        (owners.size === 0 || owners.has(row.owner_id)),
    )
    .map((row) => row.id);
}

function toEndpointHealth(one: Health): Static<typeof EndpointHealth> {
  const { endpoint, status, breaker, maySendNow: may_send_now } = one;
  const { id, name, owner_id } = endpoint;
  return {
    endpoint_id: id,
    name,
    url: addressOf(endpoint),
    owner_id,
    status,
    cb_state: breaker,
    may_send_now,
    ...countsOf(one),
  };
}

/** By customer, the one with the worst endpoint first. */
function customersOf(sorted: readonly Health[]): Static<typeof CustomerHealth>[] {
  const byOwner = Map.groupBy(sorted, ({ endpoint }) => endpoint.owner_id);
  return [...byOwner].flatMap(([owner_id, own]) => {
    const [worst] = own;
    if (worst === undefined) return [];
    return {
      owner_id,
      endpoints: own.length,
      failing_endpoints: own.filter(({ state: { state } }) => state === 'failing' || state === 'disabled')
        .length,
      worst_endpoint_id: worst.endpoint.id,
      worst_endpoint_name: worst.endpoint.name,
      ...countsOf(worst, own),
    };
  });
}

/** The sums of some endpoints, with state and cause of the worst. */
function countsOf(
  worst: Health,
  sorted: readonly Health[] = [worst],
): Pick<Static<typeof EndpointHealth>, keyof typeof counts> {
  const sums = Object.fromEntries(TOTALS.map((name) => [name, 0])) as Totals;
  for (const one of sorted) for (const name of TOTALS) sums[name] += one.counts?.[name] ?? 0;
  const { attempts, failed_attempts, delivered, failed, discarded } = sums;
  const failure = sorted.flatMap((one) => one.failure ?? [])[0];
  return {
    ...worst.state,
    attempts,
    failed_attempts,
    failed_share: attempts === 0 ? null : Math.round((1_000 * failed_attempts) / attempts) / 10,
    delivered,
    failed,
    discarded,
    open: sorted.reduce((sum, one) => sum + openCount(one), 0),
    waiting_for: waitingTotals(sorted.flatMap((one) => one.waiting)),
    oldest_at: time(least(sorted.map(oldestMs))),
    last_success_at: time(
      most(sorted.map(({ standing, counts }) => standing.lastSuccess ?? counts?.last_success ?? null)),
    ),
    last_failure:
      failure === undefined
        ? null
        : {
            event_delivery_id: failure.id,
            at: iso(failure.at),
            outcome: failure.outcome,
            description: failure.description ?? '',
          },
  };
}

const time = (ms: number | null): string | null => (ms === null ? null : iso(ms));
const known = (all: readonly (number | null)[]): number[] => all.filter((ms) => ms !== null);
const least = (all: readonly (number | null)[]): number | null =>
  known(all).toSorted((a, b) => a - b)[0] ?? null;
const most = (all: readonly (number | null)[]): number | null =>
  known(all).toSorted((a, b) => b - a)[0] ?? null;
