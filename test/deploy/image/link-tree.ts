import {
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Copies a file or a folder, as far as `keep` allows. Files are hard links where source and target are on one file
 * system: a copy of all packages would take 700 MB.
 */
export function linkTree(source: string, target: string, keep = (_path: string): boolean => true): void {
  const found = lstatSync(source);
  if (found.isDirectory()) {
    for (const name of readdirSync(source)) linkTree(join(source, name), join(target, name), keep);
    return;
  }
  if (!keep(source)) return;
  mkdirSync(dirname(target), { recursive: true });
  if (found.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else linkOrCopy(source, target);
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    copyFileSync(source, target);
  }
}
