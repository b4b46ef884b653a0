import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../../src/cli/commands.ts';
import { StartupError } from '../../src/platform/startup-error.ts';
import { Program } from '../support/program.ts';

/** A directory that is gone after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'posthorn-backup-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

/** The output of a successful command. */
export async function run(args: string[], env: Record<string, string>): Promise<string> {
  const program = new Program({ args, env });
  onTestFinished(() => program.end());
  expect(await program.ended, program.stderr).toEqual({ code: 0, signal: null });
  expect(program.stderr).toBe('');
  return program.stdout;
}

/** The one line that a command is refused with; in this process, since starting another for each takes its time. */
export async function refusal(args: string[], env: Record<string, string>): Promise<string> {
  const failure = await runCommand(args, env).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartupError);
  const { message } = failure as StartupError;
  expect(message).not.toContain('\n');
  return message;
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
