import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of the built pages in the encodings that it was built in. */
export interface BuiltFile {
  plain: Buffer;
  br: Buffer | null;
  gzip: Buffer | null;
  type: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

const BUILT = join(import.meta.dirname, '../../../web/dist');

/**
 * The pages that web/build.ts made, by path. They are read once, some 2 MB, so a request opens no file and a new build
 * does not change what a running server serves. Null if there is no whole build.
 */
export function readBuiltPages(folder = BUILT): ReadonlyMap<string, BuiltFile> | null {
  if (readOrNull(join(folder, '.stamp')) === null) return null;
  // The first glob of a process loads a library: 15 ms of a start.
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.flatMap((name): [string, BuiltFile][] => {
    const type = TYPES[name.replace(/^.*\./, '')];
    if (type === undefined) return [];
    const path = join(folder, name);
    const br = readOrNull(`${path}.br`);
    return [[`/${name}`, { plain: readFileSync(path), br, gzip: readOrNull(`${path}.gz`), type }]];
  });
  return new Map(files);
}

function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
