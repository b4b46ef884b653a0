import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Changes with anything that the rendered chart is made of. */
export function chartDigest(): string {
  const root = join(import.meta.dirname, '../../..');
  const files = ['deploy/helm/posthorn/**/*', 'test/deploy/chart/*.values.yaml']
    .flatMap((pattern) => globSync(pattern, { cwd: root, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  return hash('sha256', files.map((file) => readFileSync(file, 'utf8')).join('\0'));
}

if (process.argv[1] === import.meta.filename) process.stdout.write(`${chartDigest()}\n`);
