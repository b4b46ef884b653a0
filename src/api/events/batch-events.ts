import type { FastifyInstance } from 'fastify';
import { invalid } from '../../domain/errors.ts';
import { cutItems } from '../../platform/json/cut-json.ts';
import type { ApiContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { BatchEvents, BatchResults, UncheckedBatch } from './batch-schema.ts';
import { eventChecker } from './check-event.ts';
import { sendBatch } from './send-batch.ts';

export function registerBatch(app: FastifyInstance, context: ApiContext): void {
  const check = eventChecker(app);
  operationsOf('Events').post(app, '/api/v1/projects/:projectID/events/batch', {
    id: 'batchEvents',
    summary: 'Send up to 1,000 events. One that is refused does not keep the others from being stored.',
    acts: true,
    body: UncheckedBatch,
    documentedBody: BatchEvents,
    message: 'Events stored',
    data: BatchResults,
    access: 'developer',
    handle: async (call) => {
      if (call.idempotencyKey !== undefined)
        throw invalid('Idempotency-Key', 'is not taken here; each event has its own idempotency_key');
      const { events, all_or_nothing: isAllOrNothing = false } = call.body;
      const texts = cutItems(call.bodyText, 'events');
      // With two keys of this name the parser may have taken the other one.
      if (texts.length !== events.length) throw invalid('events', 'is given twice');
      const items = events.map((given, n) => {
        const text = texts[n] ?? '';
        return { text, check: () => check(given, text) };
      });
      return { results: await sendBatch(context, call, { items, isAllOrNothing }) };
    },
  });
}
