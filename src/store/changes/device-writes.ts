import { siblingId } from '../../domain/ids.ts';
import type { EndpointFields } from '../../domain/resources/endpoint-fields.ts';
import type { SubscriptionFields } from '../../domain/resources/subscription-fields.ts';
import {
  DELETED_AFTER_DAYS,
  DEVICE_COLUMNS,
  type DeviceRow,
  DISABLED_AFTER_SECONDS,
} from '../config/devices.ts';
import type { EndpointRow, EndpointStore } from '../config/endpoints.ts';
import { type SubscriptionRow, subscriptions } from '../config/subscriptions.ts';
import type { ConfigChange } from './config-change.ts';
import { filterRecords } from './subscription-writes.ts';
import { deleteRows, saveRow } from './write-rows.ts';

/**
 * Devices, with their endpoints and subscriptions. They come and go with a program on a laptop, so they make
 * no meta events, and their event types are not added to the catalogue.
 */
export async function lockDevice(
  change: ConfigChange,
  { hostName, callerId }: { hostName: string; callerId: string },
): Promise<DeviceRow | undefined> {
  const [row] = await change.query<DeviceRow>(
    `select ${DEVICE_COLUMNS} from devices
     where project_id = $1 and host_name = $2 and caller_id = $3 for update`,
    [change.projectId, hostName, callerId],
  );
  return row;
}

/**
 * Makes room for another device: where the bound is reached, the device goes that was switched off and not seen for the
 * longest time. Returns the bound that leaves no room.
 */
export async function makeRoomForDevice(
  change: ConfigChange,
  table: EndpointStore,
  { callerId, ofCaller, ofProject }: { callerId: string; ofCaller: number; ofProject: number },
): Promise<'caller' | 'project' | null> {
  const [count] = await change.query<{ own: number; total: number }>(
    `select count(*) filter (where caller_id = $2)::int as own, count(*)::int as total
     from devices where project_id = $1`,
    [change.projectId, callerId],
  );
  const { own = 0, total = 0 } = count ?? {};
  if (own < ofCaller && total < ofProject) return null;
  const [oldest] = await change.query<{ id: string }>(
    `select id from devices where project_id = $1 and (caller_id = $2 or not $3)
       and last_seen_at < now() - interval '${DISABLED_AFTER_SECONDS} seconds'
     order by last_seen_at limit 1 for update`,
    [change.projectId, callerId, own >= ofCaller],
  );
  if (oldest === undefined) return own >= ofCaller ? 'caller' : 'project';
  await deleteDeviceRows(change, table, oldest.id);
  return null;
}

export async function saveDevice(
  change: ConfigChange,
  table: EndpointStore,
  device: {
    id: string;
    hostName: string;
    callerId: string;
    endpoint: EndpointFields & Pick<EndpointRow, 'secret'>;
    subscription: { id: string; fields: SubscriptionFields };
  },
): Promise<{ device: DeviceRow; subscription: SubscriptionRow }> {
  const { id, endpoint, subscription } = device;
  const sealed = table.seal(id, endpoint.secret);
  await saveRow(change, table, { id, values: { ...endpoint, sealed } });
  const { fields } = subscription;
  const filters = await filterRecords(change, fields, () => siblingId(subscription.id));
  const values = { ...fields, filters: JSON.stringify(filters) };
  const { row } = await saveRow(change, subscriptions, { id: subscription.id, values });
  const [saved] = await change.query<DeviceRow>(
    `insert into devices (id, project_id, host_name, caller_id, subscription_id) values ($1, $2, $3, $4, $5)
     on conflict (id) do update set subscription_id = excluded.subscription_id, last_seen_at = now()
     returning ${DEVICE_COLUMNS}`,
    [id, change.projectId, device.hostName, device.callerId, subscription.id],
  );
  return { device: saved as DeviceRow, subscription: row };
}

/** Switches off devices that were not seen for a while. One that came back meanwhile stays as it is. */
export async function disableUnseen(change: ConfigChange, ids: readonly string[]): Promise<string[]> {
  const rows = await change.query<{ id: string }>(
    `select id from devices where project_id = $1 and id = any($2)
       and last_seen_at < now() - interval '${DISABLED_AFTER_SECONDS} seconds' order by id for update`,
    [change.projectId, ids],
  );
  const unseen = rows.map((row) => row.id);
  for (const [table, column] of [
    ['endpoints', 'id'],
    ['subscriptions', 'endpoint_id'],
  ])
    await change.query(
      `update ${table} set status = 'inactive', version = $3, updated_at = now()
       where project_id = $1 and ${column} = any($2) and status <> 'inactive' and deleted_at is null`,
      [change.projectId, unseen, change.version],
    );
  return unseen;
}

/** Deletes those that were not seen for very long. */
export async function deleteForgotten(
  change: ConfigChange,
  table: EndpointStore,
  ids: readonly string[],
): Promise<void> {
  const rows = await change.query<{ id: string }>(
    `select id from devices where project_id = $1 and id = any($2)
       and last_seen_at < now() - interval '${DELETED_AFTER_DAYS} days' for update`,
    [change.projectId, ids],
  );
  for (const { id } of rows) await deleteDeviceRows(change, table, id);
}

export async function deleteDeviceRows(
  change: ConfigChange,
  table: EndpointStore,
  id: string,
): Promise<void> {
  await change.query('delete from devices where project_id = $1 and id = $2', [change.projectId, id]);
  await deleteRows(change, table, { column: 'id', value: id });
  await deleteRows(change, subscriptions, { column: 'endpoint_id', value: id });
}
