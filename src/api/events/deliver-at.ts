import type { FastifyInstance } from 'fastify';
import { found, invalid, wrongState } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { checkExpiry, deliveryTime, retentionOf } from '../../ingest/event-times.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import { getEvent } from '../../store/history/events.ts';
import { lockDelayed, moveDelayed } from '../../store/later/delayed-events.ts';
import { notifyDue } from '../../store/limits/rate-leases.ts';
import type { SendContext } from '../http/context.ts';
import { iso } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { DeliverAt, Event, toEvent } from './event-schema.ts';

const TOO_LATE =
  'This event does not wait for its time: it was not delayed, its time has come, or all of its deliveries have ended. Nothing was changed.';

const shown = (ms: number) => ({ deliver_at: iso(ms) });

export function registerDeliverAt(app: FastifyInstance, context: SendContext): void {
  operationsOf('Events').put(app, '/api/v1/projects/:projectID/events/:eventID/deliver_at', {
    id: 'rescheduleEvent',
    summary: 'Change the time at which a delayed event is delivered, until that time has come.',
    body: DeliverAt,
    message: 'Event rescheduled',
    data: Event,
    access: 'developer',
    handle: async ({ project, params, body, by }) => {
      const { db, now, cache } = context;
      const event = found(await getEvent(db, project.id, params.eventID), 'event', params.eventID);
      const retentionMs = retentionOf(project.config, context.retentionMs);
      const limits = { nowMs: now(), acceptedAtMs: idTime(event.id), retentionMs };
      const deliverAtMs = deliveryTime(body, limits);
      if (deliverAtMs === null) throw invalid('deliver_at', 'is required, or delay_seconds');
      const places = await audited(context, by, async (tx) => {
        const delayed = await lockDelayed(tx, project.id, event.id);
        if (delayed === undefined) throw wrongState(TOO_LATE);
        checkExpiry(delayed.expires_at, deliverAtMs);
        const result = await moveDelayed(tx, delayed, deliverAtMs);
        const [before, after] = [shown(delayed.deliver_at), shown(deliverAtMs)];
        return { result, audit: [{ action: 'event.rescheduled', resourceId: event.id, before, after }] };
      });
      for (const where of places) context.wake(project.id, where, deliverAtMs - now());
      // Other nodes look there, find nothing that is due, and learn when it will be.
      await notifyDue(
        db,
        places.map((where) => ({ projectId: project.id, ...where })),
      );
      const moved = found(await getEvent(db, project.id, event.id), 'event', event.id);
      return toEvent(moved, await cache.get(project.id));
    },
  });
}
