import { type Actor, changeOf } from '../domain/audit.ts';
import { newProjectConfig, type ProjectConfig } from '../domain/config/project-config.ts';
import { AppError } from '../domain/errors.ts';
import type { ProjectId } from '../domain/ids.ts';
import { formatTime } from '../domain/time.ts';
import { audited, insertAudit } from '../store/audit/audit-entries.ts';
import { onceIn } from '../store/audit/once.ts';
import { addEventTypes } from '../store/changes/event-type-writes.ts';
import {
  deleteProject as deleteRow,
  insertProject,
  type ProjectFields,
  updateProject as updateRow,
} from '../store/changes/project-writes.ts';
import type { ProjectRow } from '../store/config/projects.ts';
import type { Queryable } from '../store/database/database.ts';
import { isUniqueViolation } from '../store/database/pg-errors.ts';
import type { Author, ConfigChanges } from './config-changes.ts';
import { addKey, type CreatedKey } from './key-changes.ts';
import { needNewerNodes } from './older-nodes.ts';

export interface NewProject {
  actor: Actor;
  name: string;
  type: string;
  logo_url?: string;
  variables?: Readonly<Record<string, string>> | undefined;
  /** The config over the defaults. Absent: the defaults. */
  configure?(defaults: ProjectConfig): ProjectConfig;
}

export interface CreatedProject {
  project: ProjectRow;
  apiKey: CreatedKey;
}

export function createProject(changes: ConfigChanges, wanted: NewProject): Promise<CreatedProject> {
  return changes.deps.db.transaction((tx) =>
    onceIn(tx, wanted.actor, async () => {
      const result = await addProject(changes, tx, wanted);
      return { result, ids: [result.project.id, result.apiKey.row.id], secret: result.apiKey.key };
    }),
  );
}

/** Creates a project, its first key and its first event type, in a transaction that does more. */
export async function addProject(
  changes: ConfigChanges,
  tx: Queryable,
  wanted: NewProject,
): Promise<CreatedProject> {
  const { ids, now, projects } = changes.deps;
  const { actor, name, type, logo_url = '', variables = {}, configure = (defaults) => defaults } = wanted;
  const made = { versionId: ids.next(), createdAt: formatTime(now()) };
  const config = configure(newProjectConfig(made, changes.deps));
  if (config.envelope !== 'none') await needNewerNodes(tx, 'envelope');
  const id = ids.next<ProjectId>();
  const project = await refusingTakenName(name, () =>
    insertProject(tx, projects, { id, name, type, logo_url, config, variables }),
  );
  await insertAudit(tx, { ids, actor, projectId: id }, [changeOf('project.created', null, project)]);
  await addEventTypes(tx, id, { names: ['*'], uid: () => ids.next() });
  const first = { projectId: id, actor, name: `${name}'s default key`, expiresAtMs: null };
  return { project, apiKey: await addKey(changes, tx, first) };
}

/** The project is read under the lock that the new version takes, so that two partial updates at once are both kept. */
export function updateProject(
  changes: ConfigChanges,
  by: Author,
  make: (project: ProjectRow) => ProjectFields,
): Promise<ProjectRow> {
  const { projects } = changes.deps;
  return changes.change(by, async (change) => {
    const project = (await projects.get(change, by.projectId)) as ProjectRow;
    const fields = make(project);
    if (fields.config.envelope !== project.config.envelope) await needNewerNodes(change, 'envelope');
    const saved = await refusingTakenName(fields.name, () => updateRow(change, projects, fields));
    return { result: saved, audit: [changeOf('project.updated', project, saved)] };
  });
}

/** Deletes a project. Its keys stop working at once. */
export async function deleteProject(changes: ConfigChanges, by: Author): Promise<null> {
  await changes.endingAccess(by.projectId, () =>
    audited(changes.deps, by, async (tx) => {
      const deleted = await deleteRow(tx, by.projectId);
      return { result: null, audit: deleted.map((row) => changeOf('project.deleted', row, null)) };
    }),
  );
  await changes.deps.cache.load(by.projectId);
  return null;
}

async function refusingTakenName<T>(name: string, save: () => Promise<T>): Promise<T> {
  try {
    return await save();
  } catch (error) {
    if (isUniqueViolation(error))
      throw new AppError('name_taken', { resource: 'project', name }, { cause: error });
    throw error;
  }
}
