import type { OutcomeFilter } from '../../domain/delivery.ts';
import {
  type DeliveryGate,
  type DeliveryMode,
  type DeliveryStatus,
  deliveryGates,
  openStatuses,
  TEST_EVENT_TYPE,
} from '../../domain/delivery.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import {
  type DeliveryId,
  type EndpointId,
  type EventId,
  isId,
  type ProjectId,
  type SourceId,
  type SubscriptionId,
} from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { addIdRange, type ListOptions, listPage, Where } from '../database/list-page.ts';
import { modeField, type RetryColumns, retryFields } from '../database/retry-columns.ts';
import { type GateSets, gateColumn, IS_UNTOUCHED } from './delivery-gates.ts';
import { brokerMessageHeader } from './events.ts';

/** A delivery with what its event contributes to it. */
export interface StoredDelivery extends RetryColumns {
  id: DeliveryId;
  project_id: ProjectId;
  event_id: EventId;
  endpoint_id: EndpointId;
  subscription_id: SubscriptionId | null;
  event_type: string;
  status: DeliveryStatus;
  description: string | null;
  delivery_mode: DeliveryMode;
  num_trials: number;
  next_send_at: number | null;
  latency_ms: number | null;
  /** Null: no attempt. See src/domain/delivery.ts. */
  last_outcome: string | null;
  body: Buffer | null;
  updated_at: number;
  cancelled_at: number | null;
  /** Its ordering key. Null: it has no order. */
  ordering_id: string | null;
  expires_at: number | null;
  payload: Buffer;
  content_type: string | null;
  headers: string | null;
  idempotency_key: string | null;
  url_query_params: string | null;
  source_id: SourceId | null;
  acknowledged_at: number;
  /** Whether a node leases it. Null: it is not in the queue. */
  is_leased: boolean | null;
  /** When the lease of the consumer that has it ends. Null: no consumer has it. */
  leased_until: number | null;
  /** Its lane. Null: it is not in the queue. */
  lane: number | null;
  /** When the head of its ordering key failed. Null: its key is not held. */
  key_held_at: number | null;
  /** The delivery of its ordering key that may be sent, or that holds it. Null: it is not in the queue, or has no order. */
  key_head_id: DeliveryId | null;
}

const SELECT = `d.id, d.project_id, d.event_id, d.endpoint_id, d.subscription_id, d.event_type, d.status, d.description,
  ${modeField('d')}, ${retryFields('d')}, d.num_trials, d.next_send_at,
  d.latency_ms, d.last_outcome, d.body, d.updated_at, d.cancelled_at, d.ordering_id, d.expires_at, e.payload, e.content_type, e.headers, e.idempotency_key,
  e.url_query_params, e.source_id, e.acknowledged_at, q.is_leased, q.leased_until, q.lane,
  q.key_held_at, q.key_head_id`;
const FROM = `event_deliveries d join events e on ${byKey('e.id', 'd.event_id')}
  left join lateral (
    select node_id is not null as is_leased, case when pulled_at is not null then due_at end as leased_until, lane,
      k.held_at as key_held_at, k.head_id as key_head_id
    from delivery_queue left join lateral (
      select held_at, head_id from ordering_keys where project_id = d.project_id and id = ordering_id offset 0
    ) k on true
    where (project_id, delivery_id) = (d.project_id, d.id) offset 0) q on true`;

export async function getDelivery(
  db: Queryable,
  projectId: ProjectId,
  id: string,
): Promise<StoredDelivery | undefined> {
  const [row] = await db.query<StoredDelivery>(
    `select ${SELECT} from ${FROM} where d.id = $1 and d.project_id = $2`,
    [id, projectId],
  );
  return row;
}

/** A filter of deliveries. An absent field matches all. */
export interface DeliveryFilter {
  fromMs?: number | undefined;
  toMs?: number | undefined;
  /** Only these deliveries. */
  ids?: string[];
  endpointIds?: string[];
  /** Not those of these endpoints. */
  exceptEndpointIds?: readonly string[];
  eventId?: string | undefined;
  subscriptionId?: string | undefined;
  eventType?: string | undefined;
  /** Names, `*` and trailing globs. */
  eventTypes?: readonly string[];
  statuses?: DeliveryStatus[];
  isCancelled?: boolean | undefined;
  /** Only deliveries that ended at or after this time. */
  endedFromMs?: number | undefined;
  /** Not those whose event is to be delivered later. */
  exceptDelayed?: boolean;
  /** Not the samples of tests. */
  exceptTests?: boolean;
  outcomes?: OutcomeFilter | undefined;
  /** Only open deliveries that wait for one of these. */
  gates?: { names: DeliveryGate[]; sets: GateSets } | undefined;
  /** Part of the event type or the description, the beginning of the id, or a complete id of the delivery or event. */
  text?: string | undefined;
  /** Endpoints whose deliveries also match the text. */
  textEndpointIds?: string[];
  idempotencyKey?: string | undefined;
  brokerMessageId?: string | undefined;
}

/**
 * Open deliveries have a row in the queue, so a list of only those scans the queue. Any other list scans the
 * deliveries in id order, by the index of the event, the endpoint or the project in the filter.
 */
export function deliveryWalk(projectId: string, filter: DeliveryFilter): Omit<ListOptions, 'page'> {
  const { statuses = [], endpointIds = [], gates } = filter;
  const isOpen = statuses.length > 0 && statuses.every((status) => openStatuses.includes(status));
  const where = deliveryConditions(projectId, filter);
  if (gates !== undefined || (isOpen && filter.eventId === undefined)) {
    where.add('q.project_id = ?', projectId);
    addIdRange(where, 'q.delivery_id', filter);
    if (gates !== undefined) where.add(`${gateColumn(where, gates.sets)} = any(?)`, gates.names);
    return {
      select: 'q.delivery_id as id',
      from: ofQueueRows('delivery_queue'),
      where: where.addIf('d.endpoint_id = any(?)', endpointIds),
      id: 'q.delivery_id',
    };
  }
  const walk = { select: 'd.id', from: 'event_deliveries d', where, id: 'd.id' };
  if (filter.eventId !== undefined || endpointIds.length === 0)
    return { ...walk, where: where.addIf('d.endpoint_id = any(?)', endpointIds) };
  return { ...walk, perKey: { column: 'd.endpoint_id', values: endpointIds } };
}

/**
 * Queue rows with their deliveries. The offset keeps the planner from reversing the join and scanning all deliveries for
 * the few open ones.
 */
export function ofQueueRows(rows: string): string {
  return `${rows} q cross join lateral (
        select * from event_deliveries where (project_id, id) = (q.project_id, q.delivery_id) offset 0) d`;
}

/** The last change of a delivery that has ended is its end. */
const ENDED_FROM = `d.status in ('Success', 'Failure', 'Discarded') and d.updated_at >= to_timestamp(?::float8 / 1000)`;

function deliveryConditions(projectId: string, filter: DeliveryFilter): Where {
  const hasOwnIndex = [filter.eventId, filter.idempotencyKey, filter.endpointIds?.[0]].some(
    (value) => value !== undefined,
  );
  // An expression rules out the project's index, which the planner would prefer without statistics.
  const where = new Where().add(hasOwnIndex ? "d.project_id || '' = ?" : 'd.project_id = ?', projectId);
  addIdRange(where, 'd.id', filter);
  where
    .addIf('d.id = any(?)', filter.ids)
    .addIf('d.endpoint_id <> all(?)', filter.exceptEndpointIds)
    .addIf('d.event_id = ?', filter.eventId)
    .addIf('d.subscription_id = ?', filter.subscriptionId)
    .addIf('d.event_type = ?', filter.eventType)
    .ofTypes('d.event_type', filter.eventTypes)
    .addIf('d.status = any(?)', filter.statuses)
    .addIf('(d.cancelled_at is not null) = ?', filter.isCancelled)
    .addIf(ENDED_FROM, filter.endedFromMs)
    .addIf('d.event_type <> ?', filter.exceptTests === true ? TEST_EVENT_TYPE : undefined);
  if (filter.exceptDelayed === true)
    where.add(`not (${IS_UNTOUCHED} and coalesce(d.next_send_at > now(), false))`);
  if (filter.outcomes !== undefined) addOutcomes(where, filter.outcomes);
  if (filter.text !== undefined) addText(where, filter.text, filter.textEndpointIds ?? []);
  if (filter.idempotencyKey !== undefined)
    where.add(
      'd.event_id = (select k.event_id from event_keys k where k.project_id = ? and k.key = ?)',
      projectId,
      filter.idempotencyKey,
    );
  if (filter.brokerMessageId !== undefined)
    where.add(
      'exists (select from events e where e.project_id = ? and e.id = d.event_id and position(? in e.headers) > 0)',
      projectId,
      brokerMessageHeader(filter.brokerMessageId),
    );
  return where;
}

function addOutcomes(where: Where, { exact, prefixes, notSent }: OutcomeFilter): void {
  const orNone = notSent ? ' or d.last_outcome is null' : '';
  where.add(`d.last_outcome = any(?) or left(d.last_outcome, 6) = any(?)${orNone}`, exact, prefixes);
}

function addText(where: Where, text: string, endpointIds: string[]): void {
  const id = text.toUpperCase();
  if (isId(id))
    // An array, so that the planner finds both by index.
    where.add(
      'd.id = any(array(select ?::text union all select n.id from event_deliveries n where n.event_id = ?))',
      id,
      id,
    );
  else
    where.add(
      `starts_with(d.id, upper(?)) or position(lower(?) in lower(d.event_type)) > 0
         or position(lower(?) in lower(d.description)) > 0 or d.endpoint_id = any(?)`,
      text,
      text,
      text,
      endpointIds,
    );
}

/** The bytes of the payload of its event, and of its own body. */
const BYTES = `coalesce(octet_length(d.body), 0) + coalesce((select octet_length(e.payload) from events e
  where e.id = d.event_id and e.project_id = d.project_id), 0)`;

/** One page of deliveries: first the ids, then their rows. */
export async function listDeliveries(
  db: Queryable,
  projectId: string,
  filter: DeliveryFilter & { page: PageRequest },
): Promise<Page<StoredDelivery>> {
  const list = { ...deliveryWalk(projectId, filter), page: filter.page, bytes: BYTES };
  const ids = await listPage<{ id: string }>(db, list);
  const wanted = ids.rows.map((row) => row.id);
  return { ...ids, rows: await deliveriesByIds(db, projectId, wanted) };
}

/** In the order of the ids. Missing ones are omitted. */
export async function deliveriesByIds(
  db: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<StoredDelivery[]> {
  const rows = await db.query<StoredDelivery>(
    `select ${SELECT} from ${FROM} where d.id = any($1) and d.project_id = $2`,
    [ids, projectId],
  );
  const byId = new Map<string, StoredDelivery>(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export async function countDeliveries(
  db: Queryable,
  projectId: string,
  filter: DeliveryFilter,
): Promise<number> {
  const { from, where, perKey } = deliveryWalk(projectId, filter);
  if (perKey !== undefined) where.add(`${perKey.column} = any(?)`, [...perKey.values]);
  const [row] = await db.query<{ count: number }>(
    `select count(*) as count from ${from} where ${where.toString()}`,
    where.values,
  );
  return row?.count ?? 0;
}

export interface WaitingCount {
  endpoint_id: string;
  gate: DeliveryGate;
  count: number;
  oldest: string;
}

type WaitingFilter = Omit<DeliveryFilter, 'gates'> & { sets: GateSets };

const WAITING_COUNT = (gate: string) =>
  `select d.endpoint_id, ${gate} as gate, count(*) as count, min(d.id) as oldest`;

/** How many open deliveries of each endpoint wait for what, and since when the oldest does. */
export async function countDeliveriesByGate(
  db: Queryable,
  projectId: string,
  { sets, ...filter }: WaitingFilter,
): Promise<WaitingCount[]> {
  const { from, where } = deliveryWalk(projectId, { ...filter, gates: { names: [...deliveryGates], sets } });
  const gate = gateColumn(where, sets);
  return db.query(
    `${WAITING_COUNT(gate)} from ${from} where ${where.toString()} group by 1, 2`,
    where.values,
  );
}

/** Counts at most so many deliveries of each queue key by gate. Deliveries that a node sends are not counted. */
export async function sampleDeliveriesByGate(
  db: Queryable,
  projectId: string,
  { sets, keys, most, ...filter }: WaitingFilter & { keys: readonly string[]; most: number },
): Promise<WaitingCount[]> {
  const { where } = deliveryWalk(projectId, { ...filter, gates: { names: [...deliveryGates], sets } });
  const gate = gateColumn(where, sets);
  const sampled = where.place(
    `(select q.* from unnest(?::text[]) k(key) cross join lateral (
       select * from delivery_queue where key = k.key and node_id is null limit ?) q)`,
    keys,
    most,
  );
  return db.query(
    `${WAITING_COUNT(gate)} from ${ofQueueRows(sampled)} where ${where.toString()} group by 1, 2`,
    where.values,
  );
}

/** Counts the deliveries of each endpoint by state. */
export async function countDeliveriesByEndpoint(
  db: Queryable,
  projectId: string,
  filter: Pick<DeliveryFilter, 'fromMs' | 'toMs' | 'eventTypes'> & { endpointIds: readonly string[] },
): Promise<{ endpoint_id: string; status: DeliveryStatus; count: number }[]> {
  const where = new Where()
    .add('d.project_id = ?', projectId)
    .add('d.endpoint_id = any(?)', [...filter.endpointIds])
    .ofTypes('d.event_type', filter.eventTypes);
  addIdRange(where, 'd.id', filter);
  return db.query(
    `select d.endpoint_id, d.status, count(*) as count from event_deliveries d
     where ${where.toString()} group by d.endpoint_id, d.status`,
    where.values,
  );
}

/** The number of deliveries in each state, for a range of dates. */
export async function countDeliveriesByStatus(
  db: Queryable,
  projectId: string,
  filter: Pick<DeliveryFilter, 'fromMs' | 'toMs' | 'endpointIds'> & { scope?: EndpointScope | undefined },
): Promise<{ status: DeliveryStatus; count: number }[]> {
  const where = new Where()
    .add('d.project_id = ?', projectId)
    .within('d.endpoint_id', filter.scope)
    .ofTypes('d.event_type', filter.scope?.eventTypes)
    .addIf('d.endpoint_id = any(?)', filter.endpointIds);
  addIdRange(where, 'd.id', filter);
  return db.query(
    `select d.status, count(*) as count from event_deliveries d where ${where.toString()} group by d.status`,
    where.values,
  );
}

/** Which events, from one id to another, an endpoint has deliveries of. */
export async function eventsOfEndpoint(
  db: Queryable,
  endpointId: string,
  { from, to }: { from: string | undefined; to: string | undefined },
): Promise<Set<string>> {
  if (from === undefined || to === undefined) return new Set();
  const rows = await db.query<{ event_id: string }>(
    'select event_id from event_deliveries where endpoint_id = $1 and event_id between $2 and $3',
    [endpointId, from, to],
  );
  return new Set(rows.map((row) => row.event_id));
}
