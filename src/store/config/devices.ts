import type { EndpointId, ProjectId, SubscriptionId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';

/** A program that listens to a project, by host name and caller. Its endpoint has the same id. */
export interface DeviceRow {
  id: EndpointId;
  project_id: ProjectId;
  host_name: string;
  caller_id: string;
  subscription_id: SubscriptionId;
  last_seen_at: number;
}

export const DEVICE_COLUMNS = 'id, project_id, host_name, caller_id, subscription_id, last_seen_at';

/** Its subscription is switched off when it was not seen for so long. */
export const DISABLED_AFTER_SECONDS = 600;
export const DELETED_AFTER_DAYS = 30;

export function listDevices(db: Queryable, projectId: string, page: PageRequest): Promise<Page<DeviceRow>> {
  const where = new Where().add('project_id = ?', projectId);
  return listPage<DeviceRow>(db, { select: DEVICE_COLUMNS, from: 'devices', where, page, id: 'id' });
}

export async function devicesByIds(
  db: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, DeviceRow>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<DeviceRow>(
    `select ${DEVICE_COLUMNS} from devices where project_id = $1 and id = any($2)`,
    [projectId, [...new Set(ids)]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Notes that devices are connected. Returns those that are still active. */
export async function seeDevices(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `update devices d set last_seen_at = now() from endpoints e
     where d.id = any($1) and e.id = d.id and e.status = 'active' and e.deleted_at is null
     returning d.id`,
    [ids],
  );
  return new Set(rows.map((row) => row.id));
}

/** Devices to be switched off or deleted. */
export const UNSEEN_DEVICES = `from devices d
  join endpoints e on e.id = d.id
  join projects p on p.id = d.project_id and p.deleted_at is null and p.cell_state is null
  where d.last_seen_at < now() - interval '${DISABLED_AFTER_SECONDS} seconds'
    and (e.status = 'active' or d.last_seen_at < now() - interval '${DELETED_AFTER_DAYS} days')`;

/** By project. */
export async function unseenDevices(db: Queryable): Promise<{ projectId: ProjectId; ids: string[] }[]> {
  return db.query(
    `select d.project_id as "projectId", array_agg(d.id) as ids ${UNSEEN_DEVICES} group by d.project_id`,
  );
}
