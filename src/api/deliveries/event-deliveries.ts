import type { FastifyInstance } from 'fastify';
import { type EndpointScope, seesDelivery } from '../../domain/endpoint-scope.ts';
import { found } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { parsePageRequest } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import { VERSION } from '../../platform/version.ts';
import { getAttempt, listAttempts } from '../../store/attempts/read-attempts.ts';
import type { Queryable } from '../../store/database/database.ts';
import { getDelivery, listDeliveries, type StoredDelivery } from '../../store/history/event-deliveries.ts';
import { getEvent } from '../../store/history/events.ts';
import { toEvent } from '../events/event-schema.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { mapPage, PageOf, pageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';
import { registerDeliveryActions } from './delivery-actions.ts';
import { deliveryFilter, deliveryFilterAliases, deliveryFilterQuery } from './delivery-filter.ts';
import { DeliveryAttempt, EventDelivery, toAttempt, WholeEventDelivery } from './delivery-schema.ts';
import { deliveryView } from './delivery-view.ts';
import { CountedTotals, countOpen, waitingTotals } from './open-counts.ts';
import { waitsBehind } from './waits-behind.ts';

const path = '/api/v1/projects/:projectID/eventdeliveries';
const route = operationsOf('Event deliveries');
const attempts = operationsOf('Delivery attempts');

export function registerEventDeliveries(app: FastifyInstance, context: SendContext): void {
  const { db } = context;
  route.get(app, path, {
    id: 'listEventDeliveries',
    summary: 'List deliveries.',
    query: Type.Object({ ...pageQuery, ...deliveryFilterQuery }),
    alsoKnown: deliveryFilterAliases,
    message: 'Event deliveries fetched',
    data: PageOf(EventDelivery),
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const filter = await deliveryFilter(context, { project, scope }, query);
      const page = await db.reading(project.id, (tx) =>
        listDeliveries(tx, project.id, { ...filter, page: parsePageRequest(query) }),
      );
      return mapPage(page, await deliveryView(context, project.id, page.rows));
    },
  });
  route.get(app, `${path}/waitingtotals`, {
    id: 'getWaitingTotals',
    summary: 'Count the open deliveries by what they wait for.',
    query: Type.Object(deliveryFilterQuery),
    alsoKnown: deliveryFilterAliases,
    message: 'Totals fetched',
    data: CountedTotals,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const filter = await deliveryFilter(context, { project, scope }, query);
      const routing = await context.cache.get(project.id);
      const nowMs = context.now();
      const { rows, isComplete } = await db.reading(project.id, (tx) =>
        countOpen(tx, routing, { ...filter, nowMs }),
      );
      return { ...waitingTotals(rows), complete: isComplete };
    },
  });
  route.get(app, `${path}/:eventDeliveryID`, {
    id: 'getEventDelivery',
    summary: 'Get a delivery.',
    message: 'Event delivery fetched',
    data: WholeEventDelivery,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, params, scope }) => {
      const row = await deliveryOf(db, project.id, { id: params.eventDeliveryID, scope });
      const show = await deliveryView(context, project.id, [row]);
      const event = found(await getEvent(db, project.id, row.event_id), 'event', row.event_id);
      const routing = await context.cache.get(project.id);
      const waits_behind = await waitsBehind(context, { projectId: project.id, scope }, row);
      return { ...show(row), waits_behind, event_metadata: toEvent(event, routing) };
    },
  });
  registerAttempts(app, context);
  registerDeliveryActions(app, context);
}

async function deliveryOf(
  db: Queryable,
  projectId: ProjectId,
  wanted: { id: string; scope: EndpointScope | undefined },
): Promise<StoredDelivery> {
  const row = await getDelivery(db, projectId, wanted.id);
  const seen = row !== undefined && seesDelivery(wanted.scope, row) ? row : undefined;
  return found(seen, 'event delivery', wanted.id);
}

const shortenedWarning = (count: number) =>
  `the list would exceed 8 MB, so headers and response_data of the ${count} oldest attempts are left out; get such an attempt by its uid`;

function registerAttempts(app: FastifyInstance, { db }: ReadContext): void {
  const attemptsPath = `${path}/:eventDeliveryID/deliveryattempts` as const;
  attempts.get(app, attemptsPath, {
    id: 'listDeliveryAttempts',
    summary: 'List the attempts of a delivery, oldest first.',
    message: 'Delivery attempts fetched',
    data: Type.Array(DeliveryAttempt),
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, params, scope }, request) => {
      const id = params.eventDeliveryID;
      await deliveryOf(db, project.id, { id, scope });
      const rows = await db.reading(project.id, (tx) => listAttempts(tx, project.id, id));
      const shortened = rows.filter((row) => !row.isWhole).length;
      if (shortened > 0) request.warnings = [...(request.warnings ?? []), shortenedWarning(shortened)];
      return showRows(rows, (row) => toAttempt(row, VERSION));
    },
  });
  attempts.get(app, `${attemptsPath}/:deliveryAttemptID`, {
    id: 'getDeliveryAttempt',
    summary: 'Get one attempt.',
    message: 'Delivery attempt fetched',
    data: DeliveryAttempt,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, params, scope }) => {
      const id = params.deliveryAttemptID;
      const deliveryId = params.eventDeliveryID;
      await deliveryOf(db, project.id, { id: deliveryId, scope });
      const attempt = await getAttempt(db, project.id, { deliveryId, id });
      return toAttempt(found(attempt, 'delivery attempt', id), VERSION);
    },
  });
}
