import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

/** Builds the pages if they are not current, as npm ci and npm start do. */
export async function buildPages(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'web/build.ts')]);
}
