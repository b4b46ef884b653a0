import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * A version that does not exist: this program with further migrations, in a folder that is removed after the
 * test. Returns the command that runs it. The sources are copied, because the program finds its migrations
 * next to them.
 */
export function madeUpVersion(migrations: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['package.json', 'src', 'migrations'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, sql] of Object.entries(migrations)) writeFileSync(join(folder, 'migrations', name), sql);
  return [process.execPath, join(folder, 'src/main.ts')];
}
