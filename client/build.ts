import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes dist, or the folder given as argument: JavaScript without comments, and types with them, since
 * `removeComments` applies to both.
 */
const { dirname } = import.meta;
const target = process.argv[2] ?? join(dirname, 'dist');
const tsc = join(dirname, '../node_modules/typescript/bin/tsc');
const compile = (...flags: string[]) =>
  execFileSync(process.execPath, [tsc, '-p', dirname, '--noEmit', 'false', '--outDir', target, ...flags], {
    stdio: 'inherit',
  });

rmSync(target, { recursive: true, force: true });
compile('--removeComments');
compile('--declaration', '--emitDeclarationOnly');
