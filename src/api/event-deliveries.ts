import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { parsePageRequest } from '../domain/pagination.ts';
import { VERSION } from '../domain/version.ts';
import { getAttempt, listAttempts } from '../store/delivery-attempts.ts';
import { getDelivery, listDeliveries } from '../store/event-deliveries.ts';
import type { ApiContext } from './context.ts';
import { registerDeliveryActions } from './delivery-actions.ts';
import { deliveryFilter, deliveryFilterQuery } from './delivery-filter.ts';
import { DeliveryAttempt, EventDelivery, toAttempt, toDelivery } from './delivery-schema.ts';
import { found, mapPage, PageOf, pageQuery } from './fields.ts';
import { registerOperation } from './operation.ts';

const path = '/api/v1/projects/:projectID/eventdeliveries';
const tag = 'Event deliveries';

export function registerEventDeliveries(app: FastifyInstance, context: ApiContext): void {
  const { db, endpoints } = context;
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listEventDeliveries',
    tag,
    summary: 'Lists deliveries.',
    query: Type.Object({ ...pageQuery, ...deliveryFilterQuery }),
    status: 200,
    message: 'Event deliveries fetched',
    data: PageOf(EventDelivery),
    handle: async ({ project, query }) => {
      const filter = await deliveryFilter(context, project, query);
      const page = await db.reading((tx) =>
        listDeliveries(tx, project.id, { ...filter, page: parsePageRequest(query) }),
      );
      const byId = await endpoints.byIds(
        db,
        page.rows.map((row) => row.endpoint_id),
      );
      return mapPage(page, (row) => toDelivery(row, byId.get(row.endpoint_id)));
    },
  });
  registerOperation(app, {
    method: 'GET',
    path: `${path}/:eventDeliveryID`,
    id: 'getEventDelivery',
    tag,
    summary: 'Fetches a delivery.',
    status: 200,
    message: 'Event delivery fetched',
    data: EventDelivery,
    handle: async ({ project, params }) => {
      const id = params['eventDeliveryID'] ?? '';
      const row = found(await getDelivery(db, project.id, id), 'event delivery', id);
      return toDelivery(row, (await endpoints.byIds(db, [row.endpoint_id])).get(row.endpoint_id));
    },
  });
  registerAttempts(app, context);
  registerDeliveryActions(app, context);
}

function registerAttempts(app: FastifyInstance, { db }: ApiContext): void {
  const attemptsPath = `${path}/:eventDeliveryID/deliveryattempts`;
  registerOperation(app, {
    method: 'GET',
    path: attemptsPath,
    id: 'listDeliveryAttempts',
    tag: 'Delivery attempts',
    summary: 'Lists every attempt of a delivery, oldest first.',
    status: 200,
    message: 'Delivery attempts fetched',
    data: Type.Array(DeliveryAttempt),
    handle: async ({ project, params }) => {
      const id = params['eventDeliveryID'] ?? '';
      found(await getDelivery(db, project.id, id), 'event delivery', id);
      return (await listAttempts(db, project.id, id)).map((row) => toAttempt(row, VERSION));
    },
  });
  registerOperation(app, {
    method: 'GET',
    path: `${attemptsPath}/:deliveryAttemptID`,
    id: 'getDeliveryAttempt',
    tag: 'Delivery attempts',
    summary: 'Fetches one attempt.',
    status: 200,
    message: 'Delivery attempt fetched',
    data: DeliveryAttempt,
    handle: async ({ project, params }) => {
      const id = params['deliveryAttemptID'] ?? '';
      const attempt = await getAttempt(db, project.id, { deliveryId: params['eventDeliveryID'] ?? '', id });
      return toAttempt(found(attempt, 'delivery attempt', id), VERSION);
    },
  });
}
