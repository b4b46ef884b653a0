import type { Actor } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import type { IdFactory } from '../domain/ids.ts';
import { type Changed, insertAudit } from './audit-entries.ts';
import type { Database, Queryable } from './database.ts';

export const CONFIG_CHANNEL = 'posthorn_config';

/**
 * Every change of a project's config goes through here: the project's version moves on in the same transaction,
 * the changed rows carry the new version, the audit log says who changed what, and other nodes are told at commit.
 * (They would find out by themselves within a second; the notice only makes it early.)
 */
export function changeConfig<T>(
  deps: { db: Database; ids: IdFactory },
  by: { projectId: string; actor: Actor },
  change: (tx: Queryable, version: number) => Promise<Changed<T>>,
): Promise<T> {
  return deps.db.transaction((tx) =>
    changeConfigIn(tx, { ids: deps.ids, ...by }, (version) => change(tx, version)),
  );
}

/** The same within a transaction that does more. */
export function changeConfigIn<T>(
  tx: Queryable,
  by: { ids: IdFactory; projectId: string; actor: Actor },
  change: (version: number) => Promise<Changed<T>>,
): Promise<T> {
  return moveVersion(tx, by.projectId, async (version) => {
    const { result, audit } = await change(version);
    await insertAudit(tx, by, audit);
    return result;
  });
}

/**
 * What nodes learn with the project's version and nobody configured: circuit breakers, alerts, answered challenges.
 * No entry in the audit log.
 */
export function changeState<T>(
  db: Database,
  projectId: string,
  change: (tx: Queryable, version: number) => Promise<T>,
): Promise<T> {
  return db.transaction((tx) => moveVersion(tx, projectId, (version) => change(tx, version)));
}

async function moveVersion<T>(
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
