import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError, usageError } from '../../platform/startup-error.ts';
import type { Given } from './command.ts';
import { terminal } from './terminal.ts';

/** The bytes of --data: a text, @FILE, or - for stdin. */
export async function readData(given: Given, flag = 'data'): Promise<Buffer | undefined> {
  const value = given.text(flag);
  if (value === undefined) return undefined;
  if (value === '-') return buffer(terminal().stdin);
  return value.startsWith('@') ? readInput(value.slice(1)) : Buffer.from(value);
}

export async function readInput(file: string): Promise<Buffer> {
  try {
    return file === '-' ? await buffer(terminal().stdin) : await readFile(file);
  } catch (error) {
    throw new StartupError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** --data as JSON. Numbers that JavaScript cannot hold exactly are sent as they were written. */
export async function readJson(given: Given): Promise<unknown> {
  const bytes = await readData(given);
  if (bytes === undefined) return undefined;
  try {
    return parseAsWritten(bytes.toString('utf8'));
  } catch (error) {
    throw usageError(`--data is not JSON: ${(error as Error).message}`);
  }
}

/** JSON whose numbers are sent as they were written. */
export const parseAsWritten = (text: string): unknown => JSON.parse(text, asWritten);

/** Node has JSON.rawJSON and the source of a number. TypeScript does not know them yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function asWritten(_name: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? rawJSON(source)
    : value;
}

export async function readObject(given: Given): Promise<Record<string, unknown>> {
  const value = (await readJson(given)) ?? {};
  if (!isObject(value)) throw usageError('--data must be a JSON object');
  return value;
}

/** A secret from the environment or a file, as env:NAME or file:PATH: command lines are seen by other users. */
export async function readSecret(given: string, env: NodeJS.ProcessEnv): Promise<string> {
  const [, kind, place = ''] = /^(env|file):(.+)$/.exec(given) ?? [];
  if (kind === undefined)
    throw usageError(`a secret is given as env:NAME or file:PATH, not as "${mask(given)}"`);
  if (kind === 'file') return (await readInput(place)).toString('utf8').replace(/\r?\n$/, '');
  const value = env[place];
  if (value === undefined || value === '')
    throw new StartupError(
      `the environment variable ${place} has no secret; set it and run the command again`,
    );
  return value;
}

const mask = (text: string): string => (text.length > 4 ? `${text.slice(0, 2)}...` : '...');

const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3_600e3, d: 86_400e3 };

/** A time of --since and --until: RFC 3339, or a duration back from now such as 10m. */
export function readTime(given: Given, flag: string): string | undefined {
  const value = given.text(flag);
  if (value === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const time = count === undefined ? Date.parse(value) : Date.now() - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(time)) throw usageError(`--${flag} must be a duration such as 10m, or a time in RFC 3339`);
  return new Date(time).toISOString();
}
