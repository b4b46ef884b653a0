import type { Actor } from '../../domain/audit.ts';
import { AppError } from '../../domain/errors.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { MetaEventType, NewMetaEvent } from '../../domain/meta-event.ts';
import type { ProjectConfig } from '../../domain/project-config.ts';
import type { Database, Queryable } from '../database/database.ts';
import { tellNodes } from '../database/tell-nodes.ts';
import { insertMetaEvents } from '../history/meta-events.ts';
import { type Changed, insertAudit } from './audit-entries.ts';
import type { MetaEventRecorder } from './meta-event-recorder.ts';

/**
 * A transaction that changes a project's config. The statements that change endpoints, subscriptions, sources and
 * projects take one and tell of the change themselves, so that no path to them can forget it.
 */
export interface ConfigTx extends Queryable {
  /**
   * Makes a meta event of a change if the project wants one; it is stored with the change, at the end of the
   * transaction. `config`: the one to ask, where the change is one of the project's own config.
   */
  tell(type: MetaEventType, data: () => object, config?: ProjectConfig): void;
}

/**
 * Every change of a project's config goes through here: the project's version moves on in the same transaction,
 * the changed rows carry the new version, the meta events of the changes are stored, the audit log says who changed
 * what, and other nodes are told at commit. (They would find out by themselves within a second; the notice only makes
 * it early.)
 */
export function changeConfig<T>(
  { db, ...deps }: { db: Database; ids: IdFactory; metaEvents: MetaEventRecorder },
  by: { projectId: string; actor: Actor },
  change: (tx: ConfigTx, version: number) => Promise<Changed<T>>,
): Promise<T> {
  return db.transaction((tx) => changeConfigIn({ ...deps, tx }, by, change));
}

/** The same within a transaction that does more. */
export function changeConfigIn<T>(
  { tx, ids, metaEvents }: { tx: Queryable; ids: IdFactory; metaEvents: MetaEventRecorder },
  by: { projectId: string; actor: Actor },
  change: (tx: ConfigTx, version: number) => Promise<Changed<T>>,
): Promise<T> {
  return moveVersion({ tx, metaEvents }, by.projectId, async (configTx, version) => {
    const { result, audit } = await change(configTx, version);
    await insertAudit(tx, { ids, ...by }, audit);
    return result;
  });
}

/**
 * What nodes learn with the project's version and nobody configured: circuit breakers, alerts, answered challenges.
 * No entry in the audit log.
 */
export function changeState<T>(
  { db, metaEvents }: { db: Database; metaEvents: MetaEventRecorder },
  projectId: string,
  change: (tx: ConfigTx, version: number) => Promise<T>,
): Promise<T> {
  return db.transaction((tx) => moveVersion({ tx, metaEvents }, projectId, change));
}

async function moveVersion<T>(
  { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
  projectId: string,
  change: (tx: ConfigTx, version: number) => Promise<T>,
): Promise<T> {
  const [project] = await tx.query<{ version: number; config: ProjectConfig }>(
    'update projects set version = version + 1 where id = $1 and deleted_at is null returning version, config',
    [projectId],
  );
  if (project === undefined) throw new AppError('project_not_found', { id: projectId });
  const told: NewMetaEvent[] = [];
  const configTx: ConfigTx = {
    query: (text, values) => tx.query(text, values),
    tell: (type, data, config = project.config) => {
      const made = metaEvents.prepare({ id: projectId, config }, type, data);
      if (made !== undefined) told.push(made);
    },
  };
  const result = await change(configTx, project.version);
  await insertMetaEvents(tx, told);
  await tellNodes(tx, projectId);
  return result;
}
