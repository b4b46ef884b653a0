import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { parseAsWritten } from './input.ts';
import { terminal } from './terminal.ts';

/** A line of a file with one JSON object a line. */
export type JsonLine = { number: number; value: object } | { number: number; problem: string };

const MAX_PART_CHARS = 4 * 2 ** 20;
const MAX_LINE_CHARS = 256 * 2 ** 20;

/** The objects of a file, or of stdin for -, in parts of at most so many. The file may be larger than the memory. */
export async function* readJsonLines(file: string, most: number): AsyncGenerator<JsonLine[]> {
  let part: JsonLine[] = [];
  let [number, chars] = [0, 0];
  for await (const text of linesOf(file)) {
    number += 1;
    if (text.trim() === '') continue;
    part.push(parsed(number, text));
    chars += text.length;
    if (part.length < most && chars < MAX_PART_CHARS) continue;
    yield part;
    part = [];
    chars = 0;
  }
  if (part.length > 0) yield part;
}

/** Null: unknown, because it is read once. */
export async function countLines(file: string): Promise<number | null> {
  if (file === '-') return null;
  let count = 0;
  for await (const _ of linesOf(file)) count += 1;
  return count;
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const stream: Readable = file === '-' ? terminal().stdin : createReadStream(file);
  let rest = '';
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_CHARS) throw new Error('a line is too long');
      yield* lines;
    }
  } catch (error) {
    throw new StartupError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (rest !== '') yield rest;
}

function parsed(number: number, text: string): JsonLine {
  try {
    const value = parseAsWritten(text);
    return isObject(value) ? { number, value } : { number, problem: 'is not a JSON object' };
  } catch (error) {
    return { number, problem: `is not JSON: ${(error as Error).message}` };
  }
}
