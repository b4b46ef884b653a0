import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { runPosthorn } from '../support/command.ts';

/** The output of a successful command. */
export async function run(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runPosthorn(args, { env });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** The one line that a command is refused with. */
export async function refusal(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stderr } = await runPosthorn(args, { env });
  expect(code).not.toBe(0);
  const [, line = ''] = /^posthorn: (.*)\n$/.exec(stderr) ?? [];
  expect(line, stderr).not.toBe('');
  return line;
}

export const linesOf = (file: string): string[] => gunzipSync(readFileSync(file)).toString().split('\n');

/** The rows of each table in a backup. */
export function tablesOf(file: string): Record<string, string[]> {
  const tables: Record<string, string[]> = {};
  let rows: string[] = [];
  for (const line of linesOf(file).slice(1, -2)) {
    const table = /^\{"table":"(\w+)"/.exec(line)?.[1];
    if (table !== undefined) tables[table] = rows = [];
    else if (line !== '\\.') rows.push(line);
  }
  return tables;
}
