import type { ProjectConfig } from '../domain/project-config.ts';
import { CONFIG_CHANNEL } from './config-version.ts';
import type { Queryable } from './database.ts';

export interface ProjectRow {
  id: string;
  name: string;
  type: string;
  logo_url: string;
  config: ProjectConfig;
  version: number;
  updated_at: number;
  deleted_at: number | null;
}

const COLUMNS = 'id, name, type, logo_url, config, version, updated_at, deleted_at';

export async function insertProject(
  tx: Queryable,
  project: Pick<ProjectRow, 'id' | 'name' | 'type' | 'logo_url' | 'config'>,
): Promise<ProjectRow> {
  const [row] = await tx.query<ProjectRow>(
    `insert into projects (id, name, type, logo_url, config) values ($1, $2, $3, $4, $5) returning ${COLUMNS}`,
    [project.id, project.name, project.type, project.logo_url, JSON.stringify(project.config)],
  );
  return row as ProjectRow;
}

export async function getProject(db: Queryable, id: string): Promise<ProjectRow | undefined> {
  const [row] = await db.query<ProjectRow>(
    `select ${COLUMNS} from projects where id = $1 and deleted_at is null`,
    [id],
  );
  return row;
}

export function listProjects(db: Queryable): Promise<ProjectRow[]> {
  return db.query<ProjectRow>(`select ${COLUMNS} from projects where deleted_at is null order by id desc`);
}

export async function countProjects(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>('select count(*) from projects where deleted_at is null');
  return row?.count ?? 0;
}

export async function updateProject(
  tx: Queryable,
  project: Pick<ProjectRow, 'id' | 'name' | 'logo_url' | 'config'>,
): Promise<ProjectRow> {
  const [row] = await tx.query<ProjectRow>(
    `update projects set name = $2, logo_url = $3, config = $4, updated_at = now() where id = $1 returning ${COLUMNS}`,
    [project.id, project.name, project.logo_url, JSON.stringify(project.config)],
  );
  return row as ProjectRow;
}

/** The project stays as a tombstone; its keys stop working at once. Returns it, unless it was deleted already. */
export async function deleteProject(tx: Queryable, id: string): Promise<ProjectRow[]> {
  const deleted = await tx.query<ProjectRow>(
    `update projects set deleted_at = now(), version = version + 1
     where id = $1 and deleted_at is null returning ${COLUMNS}`,
    [id],
  );
  await tx.query('update api_keys set revoked_at = now() where project_id = $1 and revoked_at is null', [id]);
  await tx.query('select pg_notify($1, $2)', [CONFIG_CHANNEL, id]);
  return deleted;
}
