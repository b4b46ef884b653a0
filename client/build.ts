import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

/** Writes dist: JavaScript without comments, and types with them, since `removeComments` applies to both. */
const tsc = join(import.meta.dirname, '../node_modules/typescript/bin/tsc');
const compile = (...flags: string[]) =>
  execFileSync(process.execPath, [tsc, '-p', import.meta.dirname, '--noEmit', 'false', ...flags], {
    stdio: 'inherit',
  });

rmSync(join(import.meta.dirname, 'dist'), { recursive: true, force: true });
compile('--removeComments');
compile('--declaration', '--emitDeclarationOnly');
