import { type Actor, changeOf } from '../../domain/audit.ts';
import { AppError } from '../../domain/errors.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { defaultProjectConfig } from '../../domain/project-config.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { ApiKeyRow } from '../../store/config/api-keys.ts';
import { insertAudit } from '../../store/config/audit-entries.ts';
import { addEventTypes } from '../../store/config/event-types.ts';
import type { ProjectRow, ProjectStore } from '../../store/config/projects.ts';
import type { Queryable } from '../../store/database/database.ts';
import { isUniqueViolation } from '../../store/database/pg-errors.ts';
import { createKey } from './create-key.ts';
import { mergeProjectConfig, type PartialProjectConfig } from './project-config-input.ts';

export interface CreatedProject {
  project: ProjectRow;
  apiKey: { row: ApiKeyRow; key: string };
}

/** A project, its first key and its first event type; for use in a transaction. */
export async function createProject(
  tx: Queryable,
  deps: { ids: IdFactory; sealer: Sealer; actor: Actor; projects: ProjectStore; now(): number },
  wanted: { name: string; type: string; logo_url?: string; config?: PartialProjectConfig },
): Promise<CreatedProject> {
  const defaults = defaultProjectConfig(deps.ids.next(), new Date(deps.now()).toISOString());
  const config = mergeProjectConfig(defaults, wanted.config ?? {}, deps);
  try {
    const id = deps.ids.next();
    const project = await deps.projects.insert(tx, {
      id,
      name: wanted.name,
      type: wanted.type,
      logo_url: wanted.logo_url ?? '',
      config,
    });
    const { ids, actor } = deps;
    await insertAudit(tx, { ids, actor, projectId: id }, [changeOf('project.created', null, project)]);
    await addEventTypes(tx, id, { names: ['*'], uid: () => deps.ids.next() });
    const apiKey = await createKey(tx, deps, {
      projectId: id,
      name: `${wanted.name}'s default key`,
      expiresAtMs: null,
    });
    return { project, apiKey };
  } catch (error) {
    if (isUniqueViolation(error))
      throw new AppError('name_taken', { resource: 'project', name: wanted.name }, { cause: error });
    throw error;
  }
}
