import type { FastifyInstance } from 'fastify';
import { deliveryStatuses } from '../../domain/delivery.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import { oneOf, Type } from '../../platform/type.ts';
import {
  countsPerInterval,
  type Interval,
  typedCountsPerInterval,
} from '../../store/counts/counts-per-interval.ts';
import { countDeliveriesByStatus } from '../../store/history/event-deliveries.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, dateRange, iso, Repeated, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const path = '/api/v1/projects/:projectID';
const route = operationsOf('Dashboard');

const intervals: Record<string, Interval> = {
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  yearly: 'year',
};

const Summary = Type.Object({
  events_sent: Type.Integer({ description: 'Deliveries that were attempted.' }),
  apps: Type.Integer({ description: 'Endpoints.' }),
  period: Type.String(),
  event_data: Type.Array(
    Type.Object({
      data: Type.Object({ index: Type.Integer(), date: Time }),
      count: Type.Integer(),
      successes: Type.Integer({ description: 'Attempts that succeeded.' }),
      failures: Type.Integer({ description: 'Attempts that failed.' }),
    }),
  ),
});

const StatusTotals = Type.Object(
  Object.fromEntries(deliveryStatuses.map((status) => [status, Type.Integer()] as const)),
);

/** Statistics for the dashboard pages. */
export function registerDashboard(app: FastifyInstance, { db, cache }: ReadContext): void {
  route.get(app, `${path}/dashboard/summary`, {
    id: 'getDashboardSummary',
    summary: 'Count deliveries and attempts per day, week, month or year.',
    query: Type.Object({
      ...dateQuery,
      type: Type.Optional(oneOf(Object.keys(intervals), '`daily` by default.')),
    }),
    message: 'Summary fetched',
    data: Summary,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const { fromMs = null, toMs = null } = dateRange(query);
      const asked = queryValue(query, 'type') ?? 'daily';
      const period = Object.hasOwn(intervals, asked) ? asked : 'daily';
      const ids = scope?.endpointIds ?? (await cache.get(project.id)).endpoints;
      const interval = intervals[period] ?? 'day';
      const endpointIds = [...ids.keys()];
      const { eventTypes = [] } = scope ?? {};
      const wanted = { fromMs, toMs, interval };
      const rows = await (eventTypes.length === 0
        ? countsPerInterval(db, { projectId: project.id, endpointIds }, wanted)
        : db.staleReading(project.id, (tx) =>
            typedCountsPerInterval(tx, { projectId: project.id, endpointIds, eventTypes }, wanted),
          ));
      return {
        events_sent: rows.reduce((sum, row) => sum + row.deliveries, 0),
        apps: ids.size,
        period,
        event_data: rows.map(({ start, deliveries, successes, failures }, index) => ({
          data: { index, date: iso(start) },
          count: deliveries,
          successes,
          failures,
        })),
      };
    },
  });
  route.get(app, `${path}/eventdeliveries/statustotals`, {
    id: 'getStatusTotals',
    summary: 'Count the deliveries between two dates by status.',
    query: Type.Object({ ...dateQuery, endpointId: Repeated('Only deliveries to these endpoints.') }),
    message: 'Totals fetched',
    data: StatusTotals,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const filter = { ...dateRange(query), scope, endpointIds: queryValues(query, 'endpointId') };
      const rows = await db.reading(project.id, (tx) => countDeliveriesByStatus(tx, project.id, filter));
      const counts = new Map(rows.map((row) => [row.status, row.count]));
      return Object.fromEntries(deliveryStatuses.map((status) => [status, counts.get(status) ?? 0]));
    },
  });
}
