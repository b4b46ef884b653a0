import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '../../platform/startup-error.ts';
import { replaceFile } from '../../platform/whole-file.ts';

/*
 * Profiles are saved connections, in one file that only its owner may read. A file that others may read is refused, as
 * ssh does with keys. A save writes a new file and renames it, so a crash leaves the old one.
 */
export interface Profile {
  url: string;
  api_key: string;
  project?: string;
}

export interface Profiles {
  /** The profile that commands use without --profile. */
  current: string;
  profiles: Record<string, Profile>;
}

export function profileFile(env: NodeJS.ProcessEnv): string {
  const folder = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
  return join(folder, 'posthorn', 'profiles.json');
}

export async function readProfiles(env: NodeJS.ProcessEnv): Promise<Profiles> {
  const file = profileFile(env);
  const about = await stat(file).catch(() => undefined);
  if (about === undefined) return { current: '', profiles: {} };
  if ((about.mode & 0o077) !== 0)
    throw new StartupError(`other users may read the keys in ${file}; run: chmod 600 ${file}`);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Profiles;
  } catch (error) {
    throw new StartupError(
      `${file} cannot be read (${(error as Error).message}); remove it and run posthorn login`,
    );
  }
}

export async function saveProfiles(env: NodeJS.ProcessEnv, saved: Profiles): Promise<string> {
  const file = profileFile(env);
  await replaceFile(file, `${JSON.stringify(saved, null, 2)}\n`);
  return file;
}
