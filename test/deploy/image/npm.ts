/*
 * Stands in for npm while the steps of the Dockerfile are followed. `npm ci` is done in three parts:
 *
 *   real         npm checks package.json, the lock file and the workspaces of the working directory (--dry-run)
 *   substituted  the packages that the lock file names are linked from our own node_modules, not downloaded
 *   real         the script `prepare` of the project, unless scripts are ignored
 *
 * Install scripts of packages have run in our own node_modules. `node_modules/.bin` stays empty.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { linkTree } from './link-tree.ts';

interface Package {
  dev?: boolean;
  link?: boolean;
  resolved?: string;
}

const ROOT = join(import.meta.dirname, '../../..');
const args = process.argv.slice(2);

/** The npm of this machine, which may need another Node than that of the image. */
function realNpm(words: string[]): void {
  const env = { ...process.env, PATH: process.env['PATH_OF_NPM'] };
  execFileSync('npm', words, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

function link(path: string, { link: isWorkspace, resolved = '' }: Package): void {
  const source = join(ROOT, path);
  if (isWorkspace === true) symlinkSync(relative(dirname(path), resolved), path);
  // Packages of other platforms are not installed.
  else if (existsSync(source))
    linkTree(source, path, (file) => !relative(source, file).split('/').includes('node_modules'));
}

if (args[0] !== 'ci') throw new Error(`npm ${args.join(' ')}: only npm ci is known here`);
realNpm([...args, '--dry-run', '--offline']);
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Package>;
};
const installed = Object.entries(packages)
  .filter(([path]) => path.startsWith('node_modules/'))
  .filter(([, { dev }]) => dev !== true || !args.includes('--omit=dev'))
  .toSorted(([, a], [, b]) => Number(a.link ?? false) - Number(b.link ?? false));
for (const [path, one] of installed) link(path, one);
if (!args.includes('--ignore-scripts')) realNpm(['run', 'prepare', '--if-present']);
