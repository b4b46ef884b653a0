import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';

/** Files of the data directory that are not in the database. A backup includes them only on request. */
export const KEY_FILE = 'secret.key';
export const CREDENTIALS_FILE = 'credentials.json';

/** The current secret key, if there is one. Unlike a start, this creates none. */
export async function findSecretKey(config: Config): Promise<string | undefined> {
  return config.secretKey === null ? readIfThere(join(config.dataDir, KEY_FILE)) : config.secretKey.reveal();
}

export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new StartupError(`${file} cannot be read: ${message}`);
  }
}
