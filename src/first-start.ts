import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKey } from './api/create-key.ts';
import { createProject } from './api/create-project.ts';
import type { IdFactory } from './domain/ids.ts';
import type { Sealer } from './platform/sealer.ts';
import type { Database } from './store/database.ts';
import { countProjects } from './store/projects.ts';

/**
 * The first start on an empty database makes the project `default`, its key and the instance key. Nodes that
 * start together take turns on a session lock, so one of them does it.
 */
export interface Credentials {
  url: string;
  project_id: string;
  api_key: string;
  instance_key: string;
}

const LOCK = 7_305_504;

export async function firstStart(
  deps: { db: Database; ids: IdFactory; sealer: Sealer; now(): number },
  options: { url: string; dataDir: string },
): Promise<Credentials | null> {
  const locked = await deps.db.dedicated();
  try {
    await locked.query('select pg_advisory_lock($1)', [LOCK]);
    if ((await countProjects(deps.db)) > 0) return null;
    const { project, apiKey } = await createProject(deps, { name: 'default', type: 'outgoing' });
    const instance = await createKey(deps.db, deps, {
      projectId: null,
      name: 'instance key',
      expiresAtMs: null,
    });
    const credentials = {
      url: options.url,
      project_id: project.id,
      api_key: apiKey.key,
      instance_key: instance.key,
    };
    await writeCredentials(options.dataDir, credentials);
    return credentials;
  } finally {
    await locked.end();
  }
}

async function writeCredentials(dataDir: string, credentials: Credentials): Promise<void> {
  const path = join(dataDir, 'credentials.json');
  const draft = `${path}.new`;
  await writeFile(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
}
