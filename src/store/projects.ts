import type { ProjectConfig } from '../domain/project-config.ts';
import { CONFIG_CHANNEL, type ConfigTx } from './config-version.ts';
import type { Database, Queryable } from './database.ts';
import { rowTimes } from './row-times.ts';

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

/** Tells of it by the new config. */
export async function updateProject(
  tx: ConfigTx,
  project: Pick<ProjectRow, 'id' | 'name' | 'logo_url' | 'config'>,
): Promise<ProjectRow> {
  const [row] = await tx.query<ProjectRow>(
    `update projects set name = $2, logo_url = $3, config = $4, updated_at = now() where id = $1 returning ${COLUMNS}`,
    [project.id, project.name, project.logo_url, JSON.stringify(project.config)],
  );
  const saved = row as ProjectRow;
  tx.tell('project.updated', () => projectData(saved), saved.config);
  return saved;
}

/** As meta events show it: without the secret they are signed with. */
function projectData(row: ProjectRow): object {
  const { secret: _, ...metaEvent } = row.config.meta_event;
  return {
    uid: row.id,
    name: row.name,
    type: row.type,
    logo_url: row.logo_url,
    config: { ...row.config, meta_event: metaEvent },
    ...rowTimes(row),
  };
}

/** The project stays as a tombstone; its keys stop working at once. */
export async function deleteProject(db: Database, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('update projects set deleted_at = now(), version = version + 1 where id = $1', [id]);
    await tx.query('update api_keys set revoked_at = now() where project_id = $1 and revoked_at is null', [
      id,
    ]);
    await tx.query('select pg_notify($1, $2)', [CONFIG_CHANNEL, id]);
  });
}

/** Undefined: there is no such project any more. */
export async function getProjectConfig(db: Queryable, id: string): Promise<ProjectConfig | undefined> {
  const [row] = await db.query<Pick<ProjectRow, 'config'>>(
    'select config from projects where id = $1 and deleted_at is null',
    [id],
  );
  return row?.config;
}
