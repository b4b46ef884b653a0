import { execFileSync } from 'node:child_process';
import { cpSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundleServer } from './bundle-server.ts';

/*
 * Makes dist for `npm pack`: the tree of the program as JavaScript, because Node does not run TypeScript inside of
 * node_modules. Files have the same places in it, so paths between them stay right: dist/src, dist/client/src,
 * dist/migrations, dist/docs and dist/web/dist. The service itself is in dist/bundle (bundle-server.ts).
 */
const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const run = (...args: string[]) =>
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });

rmSync(DIST, { recursive: true, force: true });
run('web/build.ts');
run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.package.json');
// The server has its docs as text.
const others = globSync(['src/**/*.{html,css,json}', 'docs/*.md', 'docs/how-to/*.md'], { cwd: ROOT });
for (const path of ['migrations', 'web/dist', ...others])
  cpSync(join(ROOT, path), join(DIST, path), { recursive: true });
await bundleServer(ROOT, DIST);
