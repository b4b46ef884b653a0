import type { FastifyInstance } from 'fastify';
import { isReceiver, RECEIVER_URL } from '../../domain/delivery.ts';
import { Type } from '../../platform/type.ts';
import { lastAttempts } from '../../store/attempts/read-attempts.ts';
import { listDeliveries } from '../../store/history/event-deliveries.ts';
import type { ReadContext } from '../http/context.ts';
import { iso, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

/** The built-in receiver shows the latest requests that came to it. They are deliveries like all others. */
const SHOWN = 20;

const Received = Type.Object({
  url: Type.String({ description: 'An endpoint with this URL is the built-in receiver.' }),
  requests: Type.Array(
    Type.Object({
      event_delivery_id: Type.String(),
      event_id: Type.String(),
      event_type: Type.String(),
      endpoint_id: Type.String(),
      headers: Type.Record(Type.String(), Type.String()),
      body: Type.String(),
      received_at: Time,
    }),
    { description: 'The latest 20, newest first.' },
  ),
});

export function registerReceiver(app: FastifyInstance, { db, cache }: ReadContext): void {
  operationsOf('Endpoints').get(app, '/api/v1/projects/:projectID/receiver', {
    id: 'getReceiver',
    summary: 'Get the URL of the built-in receiver, and the latest requests that came to it.',
    message: 'Receiver fetched',
    data: Received,
    access: 'developer',
    handle: async ({ project }) => {
      const { endpoints } = await cache.get(project.id);
      const endpointIds = [...endpoints.values()]
        .filter(({ row }) => isReceiver(row.url))
        .map(({ row }) => row.id);
      if (endpointIds.length === 0) return { url: RECEIVER_URL, requests: [] };
      const page = { perPage: SHOWN, direction: 'next', cursor: null, order: 'DESC' } as const;
      const { rows, attempts } = await db.reading(project.id, async (tx) => {
        const list = await listDeliveries(tx, project.id, { endpointIds, page });
        const ids = list.rows.map((row) => row.id);
        return { rows: list.rows, attempts: await lastAttempts(tx, project.id, ids) };
      });
      const byDelivery = new Map(attempts.map((attempt) => [attempt.deliveryId, attempt]));
      return {
        url: RECEIVER_URL,
        requests: rows.flatMap((row) => {
          const attempt = byDelivery.get(row.id);
          if (attempt === undefined) return [];
          return {
            event_delivery_id: row.id,
            event_id: row.event_id,
            event_type: row.event_type,
            endpoint_id: row.endpoint_id,
            headers: attempt.requestHeaders,
            body: (row.body ?? row.payload).toString(),
            received_at: iso(attempt.requestedAtMs),
          };
        }),
      };
    },
  });
}
