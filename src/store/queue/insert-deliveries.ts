import type { DeliveryMode, QueueKey, RetryPolicy } from '../../domain/delivery.ts';
import type { DeliveryId, EndpointId, EventId, ProjectId, SubscriptionId } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import { type Column, namesOf, Parameters } from '../database/parameters.ts';
import { retryColumns } from '../database/retry-columns.ts';
import { insertQueueRows } from './queue-rows.ts';

/** A new delivery, and the fields of its queue row. */
export interface NewDelivery {
  id: DeliveryId;
  projectId: ProjectId;
  eventId: EventId;
  endpointId: EndpointId;
  subscriptionId: SubscriptionId | null;
  eventType: string;
  deliveryMode: DeliveryMode;
  retry: RetryPolicy;
  key: QueueKey;
  /** Its ordering key. Null: it has no order. */
  orderingId: string | null;
  /** No gate is closed: it may be sent at once. */
  isUngated: boolean;
  /** It is not sent before. Null: at once. */
  dueAtMs: number | null;
  /** It is not sent after. Null: never. */
  expiresAtMs: number | null;
  /** Made by a replay, for an endpoint that identifies requests by their event. */
  isReplay?: boolean;
  /** Inserted as leased by the accepting node, or waiting for a claim. */
  leased: boolean;
}

const stored: readonly Column<NewDelivery>[] = [
  ['id', 'id', (d) => d.id],
  ['project_id', 'id', (d) => d.projectId],
  ['event_id', 'id', (d) => d.eventId],
  ['endpoint_id', 'id', (d) => d.endpointId],
  ['subscription_id', 'id', (d) => d.subscriptionId],
  ['event_type', 'text', (d) => d.eventType],
  ['is_at_most_once', 'bool', (d) => d.deliveryMode === 'at_most_once'],
  ['ordering_id', 'text', (d) => d.orderingId],
  ...retryColumns,
];

export const deliveryColumns: readonly Column<NewDelivery>[] = [
  ...stored,
  ['key', 'id', (d) => d.key],
  ['leased', 'bool', (d) => d.leased],
  ['due_at', 'time', (d) => d.dueAtMs],
  ['expires_at', 'time', (d) => d.expiresAtMs],
];

const STORED_COLUMNS = namesOf(stored);
export const INSERTED_COLUMNS = [...STORED_COLUMNS, 'due_at', 'expires_at'];
export const QUEUED_COLUMNS = ['id', 'event_id', 'project_id', 'key', 'leased', 'due_at'];

/** When a new delivery is due. Null is left out of the comparison. */
export const DUE_AT = 'greatest(now(), to_timestamp(due_at / 1000))';

/** The one statement that inserts deliveries, as a part of others. `from` has INSERTED_COLUMNS. */
export function insertDeliveries(from: string): string {
  const names = STORED_COLUMNS.join(', ');
  return `insert into event_deliveries (${names}, expires_at, status, next_send_at, updated_at)
  select ${names}, to_timestamp(expires_at / 1000), 'Scheduled', ${DUE_AT}, now() from ${from}`;
}

/** The times at which stored deliveries expire. `from` has the columns project_id, id and expires_at. */
export const insertExpiries = (from: string): string =>
  `insert into delivery_expiries (expires_at, project_id, delivery_id)
  select expires_at, project_id, id from ${from} where expires_at is not null`;

const waiting = new Parameters<{ deliveries: readonly NewDelivery[]; lane: number }>();
const lane = waiting.one('int', (batch) => batch.lane);
const rows = waiting.rows((batch) => batch.deliveries, deliveryColumns);

const INSERT_WAITING = `
with d as materialized (
  select * from ${rows.as('d')}
), stored as (
  ${insertDeliveries('d order by id')}
  returning project_id, id, expires_at
), expiries as (
  ${insertExpiries('stored')}
)
${insertQueueRows({ from: '(select d.*, null::bigint as place from d) d order by id', lane, dueAt: DUE_AT, isOrdered: true })}`;

/** Stores deliveries that wait for any node. */
export async function insertWaiting(
  tx: Queryable,
  batch: { deliveries: readonly NewDelivery[]; lane: number },
): Promise<void> {
  await tx.query(INSERT_WAITING, waiting.values(batch));
  // Few are, so the statement of all others has no column for it.
  const replays = batch.deliveries.filter(({ isReplay }) => isReplay);
  if (replays.length > 0)
    await tx.query('update event_deliveries set is_replay = true where project_id = $1 and id = any($2)', [
      replays[0]?.projectId,
      replays.map(({ id }) => id),
    ]);
}
