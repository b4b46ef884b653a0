import type { DeliveryMode } from '../../domain/delivery.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';

import { siblingId } from '../../domain/ids.ts';

import type { Page, PageRequest } from '../../domain/pagination.ts';
import {
  type FilterConditions,
  type FilterRecord,
  type RetryConfig,
  recordsFor,
} from '../../domain/subscription.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-version.ts';
import { addEventTypes } from './event-types.ts';

export interface SubscriptionFields {
  name: string;
  type: string;
  status: string;
  endpoint_id: string;
  source_id: string;
  event_types: string[];
  filter: FilterConditions;
  /** Records known so far. Saving keeps one per event type: drops the others and makes those missing. */
  filters?: readonly FilterRecord[];
  function: string;
  delivery_mode: DeliveryMode;
  alert_config: { count: number; threshold: string } | null;
  rate_limit_config: { count: number; duration: number } | null;
  retry_config: RetryConfig | null;
}

export interface SubscriptionRow extends SubscriptionFields {
  filters: readonly FilterRecord[];
  id: string;
  project_id: string;
  version: number;
  updated_at: number;
  deleted_at: number | null;
}

const FIELDS = [
  'name',
  'type',
  'status',
  'endpoint_id',
  'source_id',
  'event_types',
  'filter',
  'filters',
  'function',
  'delivery_mode',
  'alert_config',
  'rate_limit_config',
  'retry_config',
] as const satisfies (keyof SubscriptionFields)[];
const COLUMNS = ['id', 'project_id', 'version', ...FIELDS, 'updated_at', 'deleted_at'].join(', ');
const JSON_FIELDS = new Set<string>([
  'filter',
  'filters',
  'alert_config',
  'rate_limit_config',
  'retry_config',
]);

/**
 * Inserts, or replaces every field of, one subscription under a new config version, and tells of it. Its event types
 * are added to the project's catalogue.
 */
export async function saveSubscription(
  tx: ConfigChange,
  subscription: { id: string; projectId: string; version: number; fields: SubscriptionFields },
): Promise<SubscriptionRow> {
  const { id, projectId } = subscription;
  const uid = () => siblingId(id);
  await addEventTypes(tx, projectId, { names: subscription.fields.event_types, uid });
  const fields = { ...subscription.fields, filters: await filterRecords(tx, subscription.fields, uid) };
  const names = ['id', 'project_id', 'version', ...FIELDS];
  const value = (field: (typeof FIELDS)[number]) => {
    const given = fields[field];
    return JSON_FIELDS.has(field) && given !== null ? JSON.stringify(given) : given;
  };
  const [stored] = await tx.query<SubscriptionRow & { is_new: boolean }>(
    `insert into subscriptions (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})
     on conflict (id) do update set ${names
       .slice(2)
       .map((name) => `${name} = excluded.${name}`)
       .join(', ')}, updated_at = now()
     -- a row that was updated has been locked by this transaction
     returning ${COLUMNS}, xmax = 0 as is_new`,
    [id, projectId, subscription.version, ...FIELDS.map(value)],
  );
  const { is_new: isNew, ...row } = stored as NonNullable<typeof stored>;
  tx.tell(isNew ? 'subscription.created' : 'subscription.updated', () => subscriptionData(row));
  return row;
}

/** As meta events show it. */
function subscriptionData(row: SubscriptionRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type,
    status: row.status,
    endpoint_id: row.endpoint_id,
    source_id: row.source_id,
    delivery_mode: row.delivery_mode,
    filter_config: { event_types: row.event_types, filter: row.filter },
    alert_config: row.alert_config,
    rate_limit_config: row.rate_limit_config,
    retry_config: row.retry_config,
    ...rowTimes(row),
  };
}

async function filterRecords(
  tx: Queryable,
  fields: SubscriptionFields,
  uid: () => string,
): Promise<FilterRecord[]> {
  const [row] = await tx.query<{ now: number }>('select now() as now');
  const enabledAt = new Date(row?.now ?? 0).toISOString();
  return recordsFor(fields.event_types, fields.filters ?? [], { uid, enabledAt });
}

export async function getSubscription(
  db: Queryable,
  projectId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  const [row] = await db.query<SubscriptionRow>(
    `select ${COLUMNS} from subscriptions where id = $1 and project_id = $2 and deleted_at is null`,
    [id, projectId],
  );
  return row;
}

export function listSubscriptions(
  db: Queryable,
  projectId: string,
  filter: {
    page: PageRequest;
    endpointIds?: string[];
    name?: string | undefined;
    scope?: EndpointScope | undefined;
  },
): Promise<Page<SubscriptionRow>> {
  const where = new Where()
    .add('project_id = ?', projectId)
    .add('deleted_at is null')
    .within('endpoint_id', filter.scope)
    .addIf('endpoint_id = any(?)', filter.endpointIds)
    .addIf('position(lower(?) in lower(name)) > 0', filter.name);
  return listPage(db, { select: COLUMNS, from: 'subscriptions', where, page: filter.page, id: 'id' });
}

/** Oldest first. */
export function subscriptionsOfEndpoint(
  db: Queryable,
  projectId: string,
  endpointId: string,
): Promise<SubscriptionRow[]> {
  return db.query<SubscriptionRow>(
    `select ${COLUMNS} from subscriptions where endpoint_id = $1 and project_id = $2 and deleted_at is null order by id`,
    [endpointId, projectId],
  );
}

/** Rows of a project changed after a version, tombstones included. */
export function subscriptionsChangedSince(
  db: Queryable,
  projectId: string,
  version: number,
): Promise<SubscriptionRow[]> {
  return db.query<SubscriptionRow>(
    `select ${COLUMNS} from subscriptions where project_id = $1 and version > $2 and (deleted_at is null or $2 > 0)`,
    [projectId, version],
  );
}

export async function hasSubscription(
  db: Queryable,
  projectId: string,
  endpointId: string,
): Promise<boolean> {
  const rows = await db.query(
    'select 1 from subscriptions where project_id = $1 and endpoint_id = $2 and deleted_at is null limit 1',
    [projectId, endpointId],
  );
  return rows.length > 0;
}

export function deleteSubscription(
  tx: ConfigChange,
  subscription: { projectId: string; id: string },
  version: number,
): Promise<SubscriptionRow[]> {
  return deleteWhere(tx, { column: 'id', ...subscription }, version);
}

/** The subscriptions of a source end with it; returns them. */
export function deleteSubscriptionsOfSource(
  tx: ConfigChange,
  source: { projectId: string; id: string },
  version: number,
): Promise<SubscriptionRow[]> {
  return deleteWhere(tx, { column: 'source_id', ...source }, version);
}

/** The subscriptions of an endpoint end with it; returns them. */
export function deleteSubscriptionsOfEndpoint(
  tx: ConfigChange,
  endpoint: { projectId: string; id: string },
  version: number,
): Promise<SubscriptionRow[]> {
  return deleteWhere(tx, { column: 'endpoint_id', ...endpoint }, version);
}

async function deleteWhere(
  tx: ConfigChange,
  where: { column: 'id' | 'endpoint_id' | 'source_id'; projectId: string; id: string },
  version: number,
): Promise<SubscriptionRow[]> {
  const rows = await tx.query<SubscriptionRow>(
    `update subscriptions set deleted_at = now(), version = $3
     where project_id = $1 and ${where.column} = $2 and deleted_at is null returning ${COLUMNS}`,
    [where.projectId, where.id, version],
  );
  for (const row of rows) tx.tell('subscription.deleted', () => subscriptionData(row));
  return rows;
}
