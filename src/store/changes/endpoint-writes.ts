import { statusAt } from '../../domain/config/endpoint.ts';
import type { MetaEventType } from '../../domain/meta-event.ts';
import { type EndpointFields, endpointFields } from '../../domain/resources/endpoint-fields.ts';
import { metaValues } from '../../domain/resources/fields.ts';
import { formatTime } from '../../domain/time.ts';
import type { EndpointRow, EndpointStore } from '../config/endpoints.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-change.ts';
import { deleteRows, saveRow } from './write-rows.ts';

/** The meta event of a change. `reason`: why it was disabled. */
export interface EndpointEvent {
  type: Extract<MetaEventType, `endpoint.${string}`>;
  reason?: string;
}

/** Inserts an endpoint, or replaces every field of it, and records its meta events. */
export async function saveEndpoint(
  change: ConfigChange,
  table: EndpointStore,
  endpoint: EndpointFields & Pick<EndpointRow, 'id' | 'secret'>,
  events: readonly [EndpointEvent, ...EndpointEvent[]],
): Promise<EndpointRow> {
  const { id, secret, expires_at: ms } = endpoint;
  const expires_at = ms === null ? null : new Date(ms);
  const values = { ...endpoint, expires_at, sealed: table.seal(id, secret) };
  const { row } = await saveRow(change, table, { id, values });
  for (const { type, ...why } of events)
    change.endpointEvent(id, type, (state) => ({ ...endpointData(row), ...state, ...why }));
  return row;
}

/**
 * Makes endpoints inactive, for a reason each, and records their meta events. Returns those that were not inactive. An
 * endpoint that changed after the version it was `seen` in stays as it is.
 */
export async function disableEndpoints(
  change: ConfigChange,
  table: EndpointStore,
  causes: ReadonlyMap<string, { reason: string; seen: number | undefined }>,
): Promise<{ before: EndpointRow; after: EndpointRow }[]> {
  if (causes.size === 0) return [];
  const rows = await table.select(
    change,
    `project_id = $1 and id = any($2) and deleted_at is null and status <> 'inactive' order by id for update`,
    [change.projectId, [...causes.keys()]],
  );
  const before = rows.filter(({ id, version }) => version <= (causes.get(id)?.seen ?? version));
  const after = await change.query<{ id: string }>(
    `update endpoints set status = 'inactive', version = $3, updated_at = now()
     where project_id = $1 and id = any($2) returning ${table.columns}`,
    [change.projectId, before.map(({ id }) => id), change.version],
  );
  const saved = new Map(after.map((row) => [row.id, table.toRow(row)]));
  return before.map((row) => {
    const now = saved.get(row.id) as EndpointRow;
    const { reason } = causes.get(row.id) ?? {};
    change.endpointEvent(row.id, 'endpoint.disabled', (state) => ({
      ...endpointData(now),
      ...state,
      reason,
    }));
    return { before: row, after: now };
  });
}

/** Records the meta event of an endpoint whose time is over. Its row says so by itself. */
export function recordExpiry(change: ConfigChange, row: EndpointRow, reason: string): void {
  change.endpointEvent(row.id, 'endpoint.disabled', (state) => ({
    ...endpointData(row),
    ...state,
    status: 'inactive',
    reason,
  }));
}

export async function deleteEndpoint(change: ConfigChange, table: EndpointStore, id: string): Promise<void> {
  for (const row of await deleteRows(change, table, { column: 'id', value: id }))
    change.metaEvent('endpoint.deleted', () => endpointData(row));
}

/**
 * The endpoint as meta events show it, without secrets. It also omits the addresses of chat services, because
 * anyone with the address can post there.
 */
function endpointData(row: EndpointRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    ...metaValues(endpointFields, row),
    status: statusAt(row, row.updated_at),
    expires_at: row.expires_at === null ? null : formatTime(row.expires_at),
    ...rowTimes(row),
  };
}
