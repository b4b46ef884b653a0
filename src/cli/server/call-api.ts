import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { CLI_USER_HEADER } from '../../domain/audit.ts';
import { isId } from '../../domain/ids.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import type { Given } from '../terminal/command.ts';
import { printJson } from '../terminal/output.ts';
import { type Candidate, namedProject } from '../terminal/pick-one.ts';

/** Commands call the running service with the instance key of the first start. The audit log gets the user's name. */
export async function callApi(config: Config, path: string, body?: unknown): Promise<unknown> {
  const file = join(config.dataDir, 'credentials.json');
  const text = await readFile(file, 'utf8').catch(() => {
    throw new StartupError(
      `${file} cannot be read; run this where the service was first started, or set POSTHORN_DATA_DIR`,
    );
  });
  const { url, instance_key } = JSON.parse(text) as { url: string; instance_key: string };
  const base = config.publicUrl || url;
  const response = await fetch(`${base}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: instance_key,
      'content-type': 'application/json',
      'x-posthorn-strict': 'true',
      [CLI_USER_HEADER]: encodeURIComponent(userName()),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((error: Error) => {
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    throw new StartupError(`the service at ${base} does not answer (${reason}); start it with: npm start`);
  });
  const answer = (await response.json()) as { status: boolean; message: string; data?: unknown };
  if (!answer.status) throw new StartupError(answer.message);
  return answer.data;
}

/** The path of a project that is given by its id or name. */
export async function projectPath(config: Config, text: string): Promise<string> {
  const root = '/api/v1/projects';
  if (isId(text)) return `${root}/${text}`;
  return `${root}/${namedProject(text, (await callApi(config, root)) as Candidate[]).uid}`;
}

/** In a container the user may have a number and no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}

export async function createProjectCommand(config: Config, given: Given): Promise<void> {
  const body = { name: given.required('name'), type: given.text('type') ?? 'outgoing' };
  printJson(await callApi(config, '/api/v1/projects', body), 2);
}

export async function createKeyCommand(config: Config, given: Given): Promise<void> {
  const project = await projectPath(config, given.required('project'));
  const body = { name: given.required('name'), expires_at: given.text('expires-at') ?? null };
  printJson(await callApi(config, `${project}/keys`, body), 2);
}
