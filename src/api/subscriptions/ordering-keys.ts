import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { settleOrderingAlerts } from '../../control/alert-changes.ts';
import { wrongState } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { queryFlag, queryValue } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import { keyInId } from '../../routing/ordering.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import { listKeys, MOST_COUNTED, type OrderingKeyRow, skipHeld } from '../../store/ordering/held-keys.ts';
import type { ApiContext, ChangeContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { isoOrNull, NullableTime } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const path = '/api/v1/projects/:projectID/ordering-keys';

export const OrderingKey = Type.Object({
  uid: Type.String(),
  key: Type.String({ description: 'As the expression or `ordering_key` of the event gave it.' }),
  subscription_id: Type.String(),
  endpoint_id: Type.String(),
  head_id: Type.String({ description: 'The one delivery of the key that may be sent, or that holds it.' }),
  held_at: NullableTime,
  waiting: Type.Integer({ description: `Deliveries behind the head, ${MOST_COUNTED} at most.` }),
});

/** Ordering keys in which a delivery is open, and what people do about those that are held. */
export function registerOrderingKeys(app: FastifyInstance, context: ApiContext): void {
  const key = crud(app, context.db, {
    tag: 'Subscriptions',
    noun: 'ordering key',
    path,
    param: 'keyID',
    data: OrderingKey,
    // A key is a value of payloads, which a project may hide from viewers.
    access: { read: 'developer', change: 'developer' },
    view: () => toKey,
  });
  key.pages({
    summary: 'List the ordering keys in which a delivery is open or failed.',
    query: {
      held: Type.Optional(Type.Boolean({ description: 'Only keys that a failed delivery holds.' })),
      subscriptionId: Type.Optional(Type.String()),
    },
    filter: ({ query }) => ({
      isHeld: queryFlag(query, 'held') === true,
      subscriptionId: queryValue(query, 'subscriptionId'),
    }),
    read: (tx, projectId, list) => listKeys(tx, projectId, list),
  });
  operationsOf('Subscriptions').post(app, `${path}/skip`, {
    id: 'skipOrderingKeys',
    summary: 'Let the next deliveries of held ordering keys go. The failed ones stay failed.',
    body: Type.Object({ ids: Type.Array(Type.String({ maxLength: 512 }), { minItems: 1, maxItems: 1000 }) }),
    acts: true,
    message: 'Ordering keys skipped',
    data: Type.Object({ released: Type.Integer({ description: 'Deliveries that are due now.' }) }),
    access: 'developer',
    handle: async ({ by, body }) => {
      const { released, subscriptionIds } = await audited(context, by, async (tx) => {
        const result = await skipHeld(tx, by.projectId, body.ids);
        if (result === null) throw wrongState('None of these ordering keys is held.');
        const after = { ids: body.ids };
        return {
          result,
          audit: [{ action: 'ordering_keys.skipped', resourceId: null, before: null, after }],
        };
      });
      for (const { key, lane } of released) context.wake(by.projectId, { key, lane });
      await clearAlerts(context, by.projectId, subscriptionIds);
      return { released: released.length };
    },
  });
}

/** The skip is committed, and the janitor clears alerts that stay here. */
async function clearAlerts(
  { changes, log }: ChangeContext,
  projectId: ProjectId,
  subscriptionIds: Iterable<string>,
): Promise<void> {
  const looks = new Map(Array.from(subscriptionIds, (id) => [id, null]));
  await settleOrderingAlerts(changes, projectId, looks).catch((error: unknown) =>
    log.warn({ err: error, project: projectId }, 'failed to clear alerts of ordering keys; upkeep retries'),
  );
}

const toKey = (row: OrderingKeyRow): Static<typeof OrderingKey> => ({
  uid: row.id,
  key: keyInId(row.id),
  subscription_id: row.subscription_id,
  endpoint_id: row.endpoint_id,
  head_id: row.head_id,
  held_at: isoOrNull(row.held_at),
  waiting: row.waiting,
});
