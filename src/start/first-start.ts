import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigChanges } from '../control/config-changes.ts';
import { addKey } from '../control/key-changes.ts';
import { addProject } from '../control/project-changes.ts';
import { INSTANCE } from '../domain/audit.ts';
import { StartupError } from '../platform/startup-error.ts';
import { replaceFile } from '../platform/whole-file.ts';
import { countProjects } from '../store/config/projects.ts';
import type { Queryable } from '../store/database/database.ts';

/**
 * The first start on an empty database creates the project `default`, its key and the instance key. Nodes
 * that start together take a lock in turn, so one of them does it. The file with the keys is written before
 * the commit. Keys are shown only once, so a project whose keys are lost must not exist.
 */
export interface Credentials {
  url: string;
  project_id: string;
  api_key: string;
  instance_key: string;
}

const LOCK = 7_305_504;

export function firstStart(
  changes: ConfigChanges,
  options: { url: string; dataDir: string },
): Promise<Credentials | null> {
  return changes.deps.db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK]);
    if ((await countProjects(tx)) > 0) {
      await correctUrl(options.dataDir, options.url);
      return null;
    }
    const credentials = await makeCredentials(tx, changes, options.url);
    await writeCredentials(options.dataDir, credentials);
    return credentials;
  });
}

async function makeCredentials(tx: Queryable, changes: ConfigChanges, url: string): Promise<Credentials> {
  const actor = INSTANCE;
  const { project, apiKey } = await addProject(changes, tx, { actor, name: 'default', type: 'outgoing' });
  const wanted = { projectId: null, actor, name: 'instance key', expiresAtMs: null };
  const instance = await addKey(changes, tx, wanted);
  return { url, project_id: project.id, api_key: apiKey.key, instance_key: instance.key };
}

/** A later start may listen on another address. Commands and scripts read the address from the file, if it exists. */
async function correctUrl(dataDir: string, url: string): Promise<void> {
  const text = await readFile(join(dataDir, 'credentials.json'), 'utf8').catch(() => null);
  if (text === null) return;
  const credentials = JSON.parse(text) as Credentials;
  if (credentials.url !== url) await writeCredentials(dataDir, { ...credentials, url });
}

async function writeCredentials(dataDir: string, credentials: Credentials): Promise<void> {
  const path = join(dataDir, 'credentials.json');
  try {
    await replaceFile(path, `${JSON.stringify(credentials, null, 2)}\n`);
  } catch (error) {
    const reason = `${path} cannot be written: ${(error as Error).message}`;
    throw new StartupError(`${reason}; set POSTHORN_DATA_DIR to a directory Posthorn may write`, {
      cause: error,
    });
  }
}
