import { PosthornError } from '../../../client/src/posthorn.ts';
import { EXIT, StartupError } from '../../platform/startup-error.ts';
import { explanation } from '../remote/connect.ts';
import type { Given } from '../terminal/command.ts';
import { REDACTED } from './file-secrets.ts';
import { kinds, secretPaths, singular, valueAt } from './project-document.ts';
import { type Answers, type ProjectState, stateOf } from './read-project.ts';

/*
 * Another service that a project is read from, through its public API. Nothing is written there. Its answers are put into
 * the form of ours, so that the rest of an export is the same for all.
 */
export interface ForeignService {
  name: string;
  /** The environment variable with its key. A key of one service is never sent to another. */
  keyVariable: string;
  /** The one that may name the project. */
  projectVariable?: string;
  read(at: ForeignPlace): Promise<ForeignConfig>;
}

export interface ForeignPlace {
  url: string;
  key: string;
  /** The project, application or tenant to read. Absent: none was named. */
  project: string | undefined;
}

export interface ForeignConfig {
  answers: Answers;
  /** Everything that a file cannot say, or that was changed on the way, a sentence each. */
  lost: string[];
}

/** An answer that is no success. */
export class ForeignRefusal extends Error {
  readonly status: number;
  readonly path: string;

  constructor(path: string, status: number) {
    super(`answered ${status} to ${path}`);
    this.status = status;
    this.path = path;
  }
}

export async function readForeign(
  service: ForeignService,
  given: Given,
): Promise<{ state: ProjectState; lost: string[] }> {
  const url = given.required('url');
  const { name, keyVariable } = service;
  const key = given.env[keyVariable];
  if (!key)
    throw new StartupError(`there is no key of ${name}; set ${keyVariable} (${notSent(name)})`, {
      exitCode: EXIT.refused,
    });
  try {
    const project = given.text('project') ?? given.env[service.projectVariable ?? ''];
    const { answers, lost } = await service.read({ url, key, project });
    const state = stateOf(answers);
    const secrets =
      given.text('secrets') === undefined ? ['Secrets, unless --secrets names a directory.'] : [];
    return { state, lost: [...new Set([...lost, ...hiddenSecrets(name, state), ...secrets])] };
  } catch (error) {
    throw explained(error, { url, name, keyVariable });
  }
}

const notSent = (name: string): string => `POSTHORN_API_KEY is never sent to ${name}`;

function explained(
  error: unknown,
  { url, name, keyVariable }: { url: string; name: string; keyVariable: string },
): unknown {
  if (!(error instanceof PosthornError) && !(error instanceof ForeignRefusal)) return error;
  if (error.status === 401 || error.status === 403)
    return new StartupError(
      `${url} refused the key of ${name} with ${error.status}; it is the value of ${keyVariable}, so set that to a key of this ${name} (${notSent(name)})`,
      { cause: error, exitCode: EXIT.refused },
    );
  if (error instanceof PosthornError && error.status === 0) return explanation(error, url);
  return new StartupError(`${url} answered ${error.status} to ${error.path}; check --url and --project`, {
    cause: error,
  });
}

/** Services show some secrets as a fixed text. */
function hiddenSecrets(name: string, { whole }: ProjectState): string[] {
  return kinds.flatMap((kind) =>
    [...whole[kind]].flatMap(([key, item]) =>
      secretPaths[kind]
        .filter((path) => valueAt(item, path) === REDACTED)
        .map(
          (path) =>
            `${path} of the ${singular[kind]} ${key}, which ${name} does not show: write env:NAME or file:PATH there.`,
        ),
    ),
  );
}
