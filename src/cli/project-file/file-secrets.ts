import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { readSecret } from '../terminal/input.ts';
import {
  type Fields,
  type Item,
  type Kind,
  secretPaths,
  singular,
  valueAt,
  withoutValues,
  withValue,
} from './project-document.ts';

/** Stands for a secret that a Convoy does not show. */
export const REDACTED = '[REDACTED]';

/** Secrets that a new item does without: the service makes one, or there is none. */
const MAY_BE_MISSING = new Set([
  'secret',
  'slack_webhook_url',
  'teams_webhook_url',
  'headers',
  'meta_event.secret',
]);

/**
 * The item with the values of its secrets: what env:NAME or file:PATH names, or else the stored value. A secret that is
 * in the file itself is refused, because such files are shared.
 */
export async function withSecrets<T extends Fields>(
  kind: Kind | 'settings',
  item: T,
  { stored, env }: { stored: Fields | undefined; env: NodeJS.ProcessEnv },
): Promise<T> {
  let filled: Fields = item;
  for (const path of secretPaths[kind]) {
    if (!hasPlace(item, path)) continue;
    const given = valueAt(item, path);
    // An empty object removes them, and holds no secret.
    if (path === 'headers' && isObject(given)) {
      if (!isNone(given)) throw inFile(nameOf(kind, item, path));
      continue;
    }
    const isGiven = typeof given === 'string' && given !== '';
    const value = isGiven
      ? await readGiven(given, { env, what: nameOf(kind, item, path) })
      : valueAt(stored ?? {}, path);
    if (value === undefined && !MAY_BE_MISSING.has(path))
      throw new StartupError(`${nameOf(kind, item, path)} has no value; write env:NAME or file:PATH there`);
    const isJson = isGiven && (path === 'headers' || path.endsWith('signing_key'));
    filled = withValue(
      filled,
      path,
      isJson ? readJson(String(value), path, nameOf(kind, item, path)) : value,
    );
  }
  if (kind === 'settings' && isObject(item['variables']))
    filled = { ...filled, variables: await variablesOf(item['variables'], { stored, env }) };
  return filled as T;
}

/** The variables of a project with the values that the file names. What it leaves empty stays as the service shows it. */
async function variablesOf(
  given: Fields,
  { stored, env }: { stored: Fields | undefined; env: NodeJS.ProcessEnv },
): Promise<Fields> {
  const entries: [string, unknown][] = [];
  for (const [name, value] of Object.entries(given)) {
    const what = `the variable ${name}`;
    const isGiven = value !== '' && value !== null;
    const filled = isGiven
      ? await readGiven(typeof value === 'string' ? value : '', { env, what })
      : valueAt(stored ?? {}, `variables.${name}`);
    if (filled === undefined)
      throw new StartupError(`${what} has no value; write env:NAME or file:PATH there`);
    entries.push([name, filled]);
  }
  return Object.fromEntries(entries);
}

async function readGiven(
  given: string,
  { env, what }: { env: NodeJS.ProcessEnv; what: string },
): Promise<string> {
  if (!/^(env|file):/.test(given)) throw inFile(what);
  return readSecret(given, env);
}

const inFile = (what: string) =>
  new StartupError(`${what} is written in the file; write env:NAME or file:PATH instead`);

/** A JSON Web Key, or headers. The error of the parser is not shown, because it quotes the text. */
function readJson(text: string, path: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const form = path === 'headers' ? 'a JSON object of texts' : 'a JSON Web Key';
    throw new StartupError(`${what} is not JSON; give it ${form}`);
  }
}

const nameOf = (kind: Kind | 'settings', item: Fields, path: string): string =>
  kind === 'settings' ? `the setting ${path}` : `${path} of ${singular[kind]} ${String(item['key'])}`;

/** Whether an item can have this secret: the object around it is there, and wants it. */
function hasPlace(item: Fields, path: string): boolean {
  const [parent] = path.split(/\.[^.]+$/);
  if (!path.includes('.')) return true;
  const around = valueAt(item, parent ?? '');
  if (typeof around !== 'object' || around === null) return false;
  const way = (around as Fields)['authentication_type'];
  if (path.endsWith('oauth2.client_secret')) return way === 'shared_secret';
  return !path.endsWith('oauth2.signing_key') || way === 'client_assertion';
}

/** Writes the secrets of an item to files that only their owner may read, and names the files in the item. */
export async function moveSecrets(folder: string, kind: Kind | 'settings', item: Item): Promise<Item> {
  let left: Fields = item;
  for (const path of secretPaths[kind]) {
    const value = valueAt(item, path);
    if (isNone(value) || value === '***' || value === REDACTED) {
      left = withValue(left, path, undefined);
      continue;
    }
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // A key comes from a service, and must not lead to another folder.
    const file = join(folder, `${kind}.${encodeURIComponent(item.key)}.${path}`);
    await writeFile(file, typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 });
    left = withValue(left, path, `file:${file}`);
  }
  return (kind === 'settings' ? withoutValues(left) : left) as Item;
}

const isNone = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (isObject(value) && Object.keys(value).length === 0);
