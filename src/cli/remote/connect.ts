import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClientOptions, Posthorn, PosthornError } from '../../../client/src/posthorn.ts';
import { isId } from '../../domain/ids.ts';
import { EXIT, StartupError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { note } from '../terminal/output.ts';
import { type Candidate, namedProject } from '../terminal/pick-one.ts';
import { type Profile, readProfiles } from '../terminal/profiles.ts';

/*
 * Where a command takes its connection from, each part from the first that has it: the flags, the environment, the
 * profile, and the credentials that the first start of a server wrote into its data directory.
 *
 * The parts of one place belong together: a key of one service is never sent to the address of another. So a part that
 * comes with an address (profile, credentials) is used only if the address is from the same place.
 */
export interface Connection {
  url: string;
  key: string;
  project: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:5005';

export async function connectionOf(given: Given): Promise<Connection> {
  const { env } = given;
  const url = given.text('url') ?? (env['POSTHORN_URL'] || undefined);
  const key = env['POSTHORN_API_KEY'] || undefined;
  const project = given.text('project') ?? (env['POSTHORN_PROJECT'] || undefined);
  if (key !== undefined) return { url: checked(url ?? DEFAULT_URL), key, project };
  const saved = (await fromProfile(given)) ?? (await fromDataDirectory(env, project));
  if (saved === undefined || (url !== undefined && origin(url) !== origin(saved.url)))
    throw new StartupError(
      `there is no key${url === undefined ? '' : ` for ${url}`}; set POSTHORN_API_KEY, or run posthorn login`,
      { exitCode: EXIT.refused },
    );
  return { url: checked(url ?? saved.url), key: saved.api_key, project: project ?? saved.project };
}

type Credentials = Record<'url' | 'api_key' | 'project_id' | 'instance_key', string>;

async function fromProfile(given: Given): Promise<Profile | undefined> {
  const name = given.text('profile');
  const { current, profiles } = await readProfiles(given.env);
  const profile = Object.hasOwn(profiles, name ?? current) ? profiles[name ?? current] : undefined;
  if (name !== undefined && profile === undefined)
    throw new StartupError(`there is no profile "${name}"; create it with: posthorn login --profile ${name}`);
  return profile;
}

/** A server that was first started in this folder. The key of its first project opens no other one. */
async function fromDataDirectory(
  env: NodeJS.ProcessEnv,
  project: string | undefined,
): Promise<Profile | undefined> {
  const file = join(env['POSTHORN_DATA_DIR'] || '.posthorn', 'credentials.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const credentials = JSON.parse(text) as Credentials;
  const { url, api_key, project_id, instance_key } = credentials;
  const isFirst = project === undefined || project === project_id;
  return { url, api_key: isFirst ? api_key : instance_key, project: project_id };
}

function origin(url: string): string {
  return new URL(checked(url)).origin;
}

function checked(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new StartupError(`"${url}" is not an address such as https://posthorn.example.com`, {
      exitCode: EXIT.usage,
    });
  return url;
}

/** Another `fetch` for the calls. */
export type ServiceOptions = Pick<ClientOptions, 'fetch'>;

/** The first retries take 0.75 s together. People wait for a command, so it does not try as long as a program. */
const RETRIES = 2;

export function clientOf({ url, key, project }: Connection, options: ServiceOptions = {}): Posthorn {
  return new Posthorn({
    url,
    key,
    retries: RETRIES,
    ...options,
    ...(project !== undefined && { project }),
    onWarnings: (warnings) => {
      for (const warning of warnings) note(`posthorn: warning: ${warning}`);
    },
  });
}

/** Runs `work` on the service and the project. A failure of a call becomes one line for the user. */
export async function withService<T>(
  given: Given,
  work: (posthorn: Posthorn, project: string) => Promise<T>,
  options: ServiceOptions = {},
): Promise<T> {
  const connection = await connectionOf(given);
  return explained(connection, async () => {
    const project = await projectOf(connection);
    return work(clientOf({ ...connection, project }, options), project);
  });
}

/** The id of the project, which may be named. A key of one project needs no --project. */
export async function projectOf(connection: Connection): Promise<string> {
  const { project: text } = connection;
  if (text !== undefined && isId(text)) return text;
  const projects = await clientOf({ ...connection, project: undefined }).projects.list();
  return (text === undefined ? onlyProject(projects) : namedProject(text, projects)).uid;
}

function onlyProject(projects: readonly Candidate[]): Candidate {
  const [only] = projects;
  if (only === undefined || projects.length > 1)
    throw new StartupError(
      `the key opens ${projects.length} projects; name one with --project or POSTHORN_PROJECT`,
    );
  return only;
}

export async function explained<T>({ url }: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PosthornError ? explanation(error, url) : error;
  }
}

export function explanation(error: PosthornError, url: string): StartupError {
  return new StartupError(lineOf(error, url), {
    cause: error,
    exitCode: error.status === 401 || error.status === 403 ? EXIT.refused : EXIT.failed,
  });
}

function lineOf(error: PosthornError, url: string): string {
  const { code, status, message, fields } = error;
  if (code === 'network' || code === 'timeout')
    return `the service at ${url} does not answer (${message.replace('no complete answer: ', '')}); start it, or name another with --url`;
  if (status === 401)
    return `${url} refused the key: ${message.replace(/\.$/, '')}; set POSTHORN_API_KEY, or run posthorn login`;
  if (status === 403) return `the key may not do this: ${message}`;
  if (code === 'not_found') return `${message.replace(/\.$/, '')}; check the id and the project`;
  return fields.length === 0 ? message : `the service refused it: ${problemOf(error)}`;
}

/** The reason of a refusal: each field with its problem, or the message. */
export function problemOf({ fields, message }: PosthornError): string {
  const problems = fields.map(({ field, problem }) => `${field} ${problem}`.trim());
  return problems.length === 0 ? message : problems.join('; ');
}
