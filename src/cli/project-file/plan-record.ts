import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { StartupError } from '../../platform/startup-error.ts';
import { note } from '../terminal/output.ts';

/*
 * The version of the config at the time of the last plan, for each service, project and file. An apply of that file is
 * refused if the config has another version by then. Each user has its own records.
 */
export interface PlanRecord {
  config_version: string;
  planned_at: string;
}

export interface Place {
  url: string;
  project: string;
  file: string;
  env: NodeJS.ProcessEnv;
}

function recordFile({ url, project, file, env }: Place): string {
  const folder = env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local/state');
  const name = createHash('sha256')
    .update(`${url}\n${project}\n${resolve(file)}`)
    .digest('hex')
    .slice(0, 32);
  return join(folder, 'posthorn/plans', `${name}.json`);
}

export async function savePlan(place: Place, version: string): Promise<void> {
  const file = recordFile(place);
  const record: PlanRecord = { config_version: version, planned_at: new Date().toISOString() };
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(record));
  } catch (error) {
    const reason = (error as Error).message;
    note(`posthorn: the plan is not remembered (${reason}); apply it with --config-version ${version}`);
  }
}

export async function readPlan(place: Place): Promise<PlanRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordFile(place), 'utf8')) as PlanRecord;
  } catch (error) {
    // There was no plan. A record that cannot be read is no such case: its version would go unchecked.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartupError(`the record of the plan cannot be read (${(error as Error).message}); plan again`);
  }
}

export async function forgetPlan(place: Place): Promise<void> {
  await rm(recordFile(place), { force: true });
}
