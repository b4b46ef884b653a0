import type { ProjectKey } from '../../domain/config/project-key.ts';
import {
  OPEN_PROJECT_COLUMNS,
  type OpenProject,
  PROJECT_COLUMNS,
  type ProjectRow,
  type ProjectStore,
  type StoredProject,
} from '../config/projects.ts';
import type { Queryable } from '../database/database.ts';
import { notifyNodes } from '../database/notify-nodes.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-change.ts';

/** The given config is complete. */
export async function insertProject(
  tx: Queryable,
  projects: ProjectStore,
  project: ProjectFields & Pick<ProjectRow, 'id' | 'type'>,
): Promise<ProjectRow> {
  const variables = projects.sealVariables(project.id, project.variables ?? {});
  const [row] = await tx.query<StoredProject>(
    `insert into projects (id, name, type, logo_url, config, sealed, sealed_variables)
     values ($1, $2, $3, $4, $5, $6, $7)
     returning ${PROJECT_COLUMNS}`,
    [project.id, project.name, project.type, project.logo_url, ...projects.seal(project), variables],
  );
  return projects.toRow(row as StoredProject);
}

export type ProjectFields = Pick<ProjectRow, 'name' | 'logo_url' | 'config'> & {
  /** All of them. Undefined: they stay. */
  variables?: Readonly<Record<string, string>> | undefined;
};

/** The config given is the whole one. It decides whether the project wants the meta event. */
export async function updateProject(
  change: ConfigChange,
  projects: ProjectStore,
  { name, logo_url, config, variables }: ProjectFields,
): Promise<ProjectRow> {
  const id = change.projectId;
  // Kept as they are if they do not change: a value that cannot be opened is no obstacle.
  const isChanged = variables !== undefined;
  const sealed = isChanged ? projects.sealVariables(id, variables) : null;
  const [row] = await change.query<StoredProject>(
    `update projects set name = $2, logo_url = $3, config = $4, sealed = $5,
       sealed_variables = case when $6 then $7 else sealed_variables end, updated_at = now() where id = $1
     returning ${PROJECT_COLUMNS}`,
    [id, name, logo_url, ...projects.seal({ id, config }), isChanged, sealed],
  );
  const saved = projects.toRow(row as StoredProject);
  change.metaEvent('project.updated', () => projectData(saved), saved.config);
  return saved;
}

export async function saveSigningKeys(
  change: ConfigChange,
  projects: ProjectStore,
  keys: readonly ProjectKey[],
): Promise<void> {
  const id = change.projectId;
  await change.query('update projects set sealed_keys = $2 where id = $1', [id, projects.sealKeys(id, keys)]);
}

/** The project stays as a tombstone, and its keys stop working at once. Returns it, unless it was deleted already. */
export async function deleteProject(tx: Queryable, id: string): Promise<OpenProject[]> {
  const deleted = await tx.query<OpenProject>(
    `update projects set deleted_at = now(), version = version + 1
     where id = $1 and deleted_at is null returning ${OPEN_PROJECT_COLUMNS}`,
    [id],
  );
  await tx.query('update api_keys set revoked_at = now() where project_id = $1 and revoked_at is null', [id]);
  await notifyNodes(tx, id);
  return deleted;
}

/** The project as meta events show it, without the secret that signs them. */
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
