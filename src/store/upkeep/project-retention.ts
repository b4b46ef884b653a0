import { firstIdAt, type ProjectId } from '../../domain/ids.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import { WriteError } from '../../platform/whole-file.ts';
import { eachProject } from '../config/each-project.ts';
import type { Queryable } from '../database/database.ts';
import { removeTemplatesOfProject } from './expired-templates.ts';
import type { RemovalOptions } from './remove-partitions.ts';
import { RowRemover } from './row-remover.ts';

/** Removes data of projects with a shorter retention than the instance (row-remover.ts). */
export interface ProjectRemoval extends RemovalOptions {
  /** The data of a project could not be removed. That of the others is. */
  failed(projectId: ProjectId, error: unknown): void;
}

export interface ProjectRetention {
  projectId: ProjectId;
  retentionMs: number;
}

/** Projects with their own retention. */
export async function projectRetentions(db: Queryable): Promise<ProjectRetention[]> {
  const projects = await db.query<{ projectId: ProjectId; policy: string }>(
    `select id as "projectId", config #>> '{retention_policy,policy}' as policy from projects
     where deleted_at is null and (config #>> '{retention_policy,retention_policy_enabled}')::boolean`,
  );
  return projects.flatMap(({ projectId, policy }) => {
    const retentionMs = parseGoDuration(policy);
    return retentionMs === null ? [] : [{ projectId, retentionMs }];
  });
}

export async function removeExpiredOfProjects(options: ProjectRemoval, nowMs: number): Promise<void> {
  const { db, signal } = options;
  const remover = await RowRemover.open(options);
  await eachProject({
    find: () => projectRetentions(db),
    act: async (projectId, [{ retentionMs }]) => {
      const below = firstIdAt(nowMs - retentionMs);
      await remover.removeOfProject(projectId, below);
      await removeTemplatesOfProject(db, { projectId, below }, signal);
    },
    failed: (projectId, error) => {
      // The directory of all.
      if (error instanceof WriteError) throw error;
      options.failed(projectId, error);
    },
    signal,
  });
}
