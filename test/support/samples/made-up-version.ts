import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * A version that does not exist: this program with further migrations, in a folder that is removed after the
 * test. Returns the command that runs it. The sources are copied, because the program finds its migrations
 * next to them.
 */
export function madeUpVersion(migrations: Record<string, string>): string[] {
  const folder = temporaryFolder();
  for (const name of ['package.json', 'src', 'migrations'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, sql] of Object.entries(migrations)) writeFileSync(join(folder, 'migrations', name), sql);
  return [process.execPath, join(folder, 'src/main.ts')];
}
