/*
 * Builds the pages into web/dist if a file that they are made from has changed:
 *
 *   stamp is current -> nothing to do
 *   vite is missing  -> keep what is there (npm ci --omit=dev)
 *   else             -> build apart, compress, check sizes, swap the folders
 *
 * dist/.stamp holds the hash of the sources. It is written last, so a build that was cut off is made again.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const { dirname } = import.meta;
const ROOT = join(dirname, '..');
const DIST = join(dirname, 'dist');
const SOURCES = ['package-lock.json', 'client/src/**/*.ts', 'web/*.*', 'web/public/*', 'web/src/**/*.*'];

/** The largest sizes in kB of compressed JavaScript: what the first page loads, and each lazy part. */
const BUDGET = { firstPage: 170, 'code-editor': 150, other: 60 };

interface Chunk {
  file: string;
  name?: string;
  isEntry?: boolean;
  imports?: string[];
}

function sourceHash(): string {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: ROOT })
    .filter((file) => !file.includes('.test.'))
    .toSorted();
  for (const file of files)
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

function currentStamp(): string {
  try {
    return readFileSync(join(DIST, '.stamp'), 'utf8');
  } catch {
    return '';
  }
}

async function loadVite() {
  try {
    return await import('vite');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

/** The server sends these as they are, so nothing is compressed per request. */
function compress(folder: string): void {
  for (const file of globSync('**/*.{js,css,html,svg}', { cwd: folder })) {
    const path = join(folder, file);
    const text = readFileSync(path);
    writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
    writeFileSync(`${path}.br`, brotliCompressSync(text, { params }));
  }
}

function checkSizes(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Record<
    string,
    Chunk
  >;
  const kilobytes = (file: string): number => readFileSync(join(folder, `${file}.gz`)).length / 1000;
  const first = new Set<string>();
  const add = (key: string): void => {
    const chunk = manifest[key];
    if (chunk === undefined || first.has(chunk.file)) return;
    first.add(chunk.file);
    for (const one of chunk.imports ?? []) add(one);
  };
  const chunks = Object.entries(manifest).filter(([, { file }]) => file.endsWith('.js'));
  for (const [key, chunk] of chunks) if (chunk.isEntry || chunk.name === 'overview') add(key);
  const sizes = chunks
    .filter(([, { file }]) => !first.has(file))
    .map(([key, { file, name = key }]) => ({
      name,
      size: kilobytes(file),
      limit: BUDGET[name as keyof typeof BUDGET] ?? BUDGET.other,
    }));
  const firstPage = [...first].reduce((sum, file) => sum + kilobytes(file), 0);
  sizes.push({ name: 'first page', size: firstPage, limit: BUDGET.firstPage });
  const tooLarge = sizes.filter(({ size, limit }) => size > limit);
  if (tooLarge.length > 0)
    throw new Error(
      tooLarge
        .map(({ name, size, limit }) => `web: ${name} has ${size.toFixed(1)} kB, more than ${limit} kB`)
        .join('\n'),
    );
  return `first page ${firstPage.toFixed(1)} kB`;
}

async function main(): Promise<void> {
  const stamp = sourceHash();
  if (currentStamp() === stamp) return;
  const vite = await loadVite();
  if (vite === undefined) return;
  const started = performance.now();
  // React picks its faster build by this, and a test runner sets another.
  process.env['NODE_ENV'] = 'production';
  const fresh = join(dirname, `dist-${process.pid}`);
  try {
    await vite.build({
      configFile: join(dirname, 'vite.config.ts'),
      configLoader: 'native',
      logLevel: 'error',
      build: { outDir: fresh, emptyOutDir: true },
    });
    compress(fresh);
    const sizes = checkSizes(fresh);
    writeFileSync(join(fresh, '.stamp'), stamp);
    rmSync(DIST, { recursive: true, force: true });
    renameSync(fresh, DIST);
    process.stdout.write(
      `web: built in ${((performance.now() - started) / 1000).toFixed(1)} s, ${sizes} of JavaScript\n`,
    );
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

await main();
