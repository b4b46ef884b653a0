import { firstIdAt, type ProjectId } from '../../domain/ids.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import type { Queryable } from '../database/database.ts';
import { removeTemplatesOfProject } from './expired-templates.ts';
import type { RemovalOptions } from './remove-partitions.ts';
import { RowRemover } from './row-remover.ts';

/** Removes data of projects with a shorter retention than the instance (retention.ts). */
export interface ProjectRetention {
  id: ProjectId;
  retentionMs: number;
}

/** Projects with their own retention. */
export async function projectRetentions(db: Queryable): Promise<ProjectRetention[]> {
  const projects = await db.query<{ id: ProjectId; policy: string }>(
    `select id, config #>> '{retention_policy,policy}' as policy from projects
     where deleted_at is null and (config #>> '{retention_policy,retention_policy_enabled}')::boolean`,
  );
  return projects.flatMap(({ id, policy }) => {
    const retentionMs = parseGoDuration(policy);
    return retentionMs === null ? [] : [{ id, retentionMs }];
  });
}

export async function removeExpiredOfProjects(options: RemovalOptions, nowMs: number): Promise<void> {
  const { db, signal } = options;
  const remover = await RowRemover.open(options);
  for (const { id, retentionMs } of await projectRetentions(db)) {
    if (signal.aborted) return;
    const below = firstIdAt(nowMs - retentionMs);
    await remover.removeOfProject(id, below);
    await removeTemplatesOfProject(db, { projectId: id, below }, signal);
  }
}
