import { type DeliveryStatus, LANE, type Place, type QueueKey } from '../../domain/delivery.ts';
import { deliveryData, endingType } from '../../domain/delivery-data.ts';
import type { EventId, ProjectId } from '../../domain/ids.ts';
import { wantsMetaEvent } from '../../domain/meta-event.ts';
import { getProjectConfig } from '../config/projects.ts';
import { countEnds } from '../counts/recent-counts.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { retryOf } from '../database/retry-columns.ts';
import { deliveriesByIds, type StoredDelivery } from '../history/event-deliveries.ts';
import { endHolds } from '../ordering/held-keys.ts';
import { lockKeysOf, releaseNext } from '../ordering/release-next.ts';
import { insertMetaEvents } from './insert-meta-events.ts';
import type { MetaEventRecorder } from './meta-event-recorder.ts';
import { insertQueueRows } from './queue-rows.ts';

/**
 * Reopens ended deliveries, and ends open ones by hand. Both change the delivery and its queue row in one
 * transaction, queue rows in id order, as a finish does.
 */
export type LockedDelivery = Pick<
  StoredDelivery,
  'id' | 'event_id' | 'endpoint_id' | 'subscription_id' | 'event_type' | 'status' | 'ordering_id'
>;

/** Locks those of the given deliveries that are in one of the states. Their ordering keys come first, as in a finish. */
export async function lockDeliveries(
  tx: Queryable,
  projectId: string,
  wanted: { ids: readonly string[]; statuses?: readonly DeliveryStatus[] },
): Promise<LockedDelivery[]> {
  await lockKeysOf(tx, projectId, { ids: wanted.ids, among: 'all' });
  return tx.query<LockedDelivery>(
    `select id, event_id, endpoint_id, subscription_id, event_type, status, ordering_id from event_deliveries
     where id = any($1) and project_id = $2 and ($3::text[] is null or status = any($3))
     order by id for update`,
    [wanted.ids, projectId, wanted.statuses ?? null],
  );
}

interface Resend {
  deliveries: readonly {
    id: string;
    event_id: EventId;
    key: QueueKey;
    /** Null: it has no order, or is sent without regard to it. */
    ordering_id: string | null;
  }[];
  lane: number;
}

const requeue = new Parameters<Resend & { projectId: string }>();
const project = requeue.one('text', (batch) => batch.projectId);
const lane = requeue.one('int', (batch) => batch.lane);
const queued = requeue.rows(
  (batch) => batch.deliveries,
  [
    ['id', 'id', (d) => d.id],
    ['event_id', 'id', (d) => d.event_id],
    ['key', 'id', (d) => d.key],
    ['ordering_id', 'text', (d) => d.ordering_id],
    ['place', 'bigint', () => null],
  ],
);
const REQUEUE = `
${insertQueueRows({ from: `(select *, ${project} as project_id from ${queued.as('d')}) q order by id`, lane, hadRowBefore: true, isOrdered: true })}
on conflict do nothing`;

/** Locked, ended deliveries become due at once, with a fresh retry budget. They do not expire again. */
export async function reopenDeliveries(tx: Queryable, projectId: string, resend: Resend): Promise<void> {
  const { deliveries } = resend;
  if (deliveries.length === 0) return;
  await tx.query(
    `with ended as materialized (
       select event_id, endpoint_id, event_type, status, updated_at from event_deliveries
       where id = any($1) and project_id = $2
     ), counted as (${countEnds('$2', '-')})
     update event_deliveries set status = 'Scheduled', description = null, budget_from = num_trials,
       next_send_at = now(), cancelled_at = null, expires_at = null, updated_at = now()
     where id = any($1) and project_id = $2`,
    [deliveries.map((d) => d.id), projectId],
  );
  await tx.query(REQUEUE, requeue.values({ projectId, ...resend }));
  await endHolds(tx, projectId, deliveries);
}

/**
 * Keys are locked before: an ordered delivery that ends lets the next of its key go. One that has taken its place since then,
 * in a key that was new, stays: its key is not locked.
 */
const REMOVE = `
with mine as materialized (
  select project_id, delivery_id, ordering_id, place from delivery_queue
  where project_id = $1 and delivery_id = any($2)
    and (ordering_id is null or node_id is null and lane <> ${LANE.leased} and (place is null or ordering_id = any($3)))
  order by delivery_id for update
), gone as (
  delete from delivery_queue q using mine where ${byKey('q.delivery_id', 'mine.delivery_id')} returning q.delivery_id
), unplaced as (
  delete from ordered_deliveries w using mine
  where ${byKey('w.ordering_id', 'mine.ordering_id')} and w.place = mine.place and w.delivery_id = mine.delivery_id
), ended as materialized (
  select project_id, ordering_id, delivery_id, null as held_by from mine where ordering_id is not null
), ${releaseNext()}
select delivery_id as id, null as key, null::int as lane from gone
union all select null, key, lane from released`;

export interface Ended {
  count: number;
  /** Where deliveries of ordering keys are due now. */
  released: Place[];
}

/** As `expired` of src/engine/attempt/sent.ts says it. */
const EXPIRED = `'Expired at ' || to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || ' before it was delivered.'`;

/**
 * Ends those of the given deliveries that are still open, with their meta events. One being sent ends too: its outcome
 * comes too late. An ordered one being sent does not: the next of its key must not overtake it.
 */
export async function endOpenDeliveries(
  { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
  projectId: ProjectId,
  end: {
    ids: readonly string[];
    status: 'Discarded' | 'Failure';
    /** Null: it expired. */
    description: string | null;
    isCancelled?: boolean;
  },
): Promise<Ended> {
  const keys = await lockKeysOf(tx, projectId, { ids: end.ids, among: 'open' });
  const rows = await tx.query<{ id: string | null; key: QueueKey; lane: number }>(REMOVE, [
    projectId,
    end.ids,
    keys,
  ]);
  const gone = rows.flatMap(({ id }) => id ?? []);
  const released = rows.filter(({ id }) => id === null).map(({ key, lane }) => ({ projectId, key, lane }));
  const ended = await tx.query<{ id: string }>(
    `with ended as (
       update event_deliveries set status = $3, description = coalesce($4, ${EXPIRED}), updated_at = now(),
         cancelled_at = case when $5 then now() end
       where id = any($1) and project_id = $2 returning id, event_id, endpoint_id, event_type, status, updated_at
     ), counted as (${countEnds('$2', '+')})
     select id from ended`,
    [gone, projectId, end.status, end.description, end.isCancelled === true],
  );
  const outcome = { ids: ended.map((row) => row.id).sort(), status: end.status };
  await recordEndedMetaEvents({ tx, metaEvents }, projectId, outcome);
  return { count: ended.length, released };
}

/** Each loads its payload into memory, twice. */
const SLICE = 20;

/** Creates the meta events of deliveries that this transaction ended, if their project wants them. */
async function recordEndedMetaEvents(
  { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
  projectId: ProjectId,
  ended: { ids: readonly string[]; status: 'Discarded' | 'Failure' },
): Promise<void> {
  const type = endingType(ended.status);
  const config = ended.ids.length === 0 ? undefined : await getProjectConfig(tx, projectId);
  if (type === undefined || config === undefined) return;
  if (!wantsMetaEvent(config.meta_event, type)) return;
  for (let from = 0; from < ended.ids.length; from += SLICE) {
    const rows = await deliveriesByIds(tx, projectId, ended.ids.slice(from, from + SLICE));
    const made = rows.map((row) =>
      metaEvents.prepare({ id: projectId, config }, type, () => storedData({ ...row, status: ended.status })),
    );
    await insertMetaEvents(
      tx,
      made.filter((event) => event !== undefined),
    );
  }
}

function storedData(row: StoredDelivery & { status: 'Discarded' | 'Failure' }): object {
  return deliveryData({
    id: row.id,
    projectId: row.project_id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    subscriptionId: row.subscription_id,
    eventType: row.event_type,
    status: row.status,
    description: row.description,
    idempotencyKey: row.idempotency_key,
    urlQueryParams: row.url_query_params,
    body: row.body ?? row.payload,
    contentType: row.body === null ? row.content_type : null,
    numTrials: row.num_trials,
    retry: retryOf(row),
    attempt: null,
    acknowledgedAtMs: row.acknowledged_at,
    endedAtMs: row.updated_at,
  });
}
