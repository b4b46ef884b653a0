import { AppError } from '../domain/errors.ts';
import type { Database, Queryable } from './database.ts';

export const CONFIG_CHANNEL = 'posthorn_config';

/**
 * Every change of a project's config goes through here: the project's version moves on in the same transaction,
 * the changed rows carry the new version, and other nodes are told at commit. (They would find out by themselves
 * within a second; the notice only makes it early.)
 */
export function changeConfig<T>(
  db: Database,
  projectId: string,
  change: (tx: Queryable, version: number) => Promise<T>,
): Promise<T> {
  return db.transaction((tx) => changeConfigIn(tx, projectId, (version) => change(tx, version)));
}

/** The same within a transaction that does more. */
export async function changeConfigIn<T>(
  tx: Queryable,
  projectId: string,
  change: (version: number) => Promise<T>,
): Promise<T> {
  const [project] = await tx.query<{ version: number }>(
    'update projects set version = version + 1 where id = $1 and deleted_at is null returning version',
    [projectId],
  );
  if (project === undefined) throw new AppError('project_not_found', { id: projectId });
  const result = await change(project.version);
  await tx.query('select pg_notify($1, $2)', [CONFIG_CHANNEL, projectId]);
  return result;
}
