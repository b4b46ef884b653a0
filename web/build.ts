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
const SOURCES = [
  'package-lock.json',
  'client/src/**/*.ts',
  'src/domain/brokers/broker-field*.ts',
  'web/*.*',
  'web/public/*',
  'web/src/**/*.*',
];

/** Portal and reference are builds of their own: one file for each page, and nothing of the dashboard in it. */
const BUILDS = [
  { manifest: '.vite/dashboard.json', input: { index: 'index.html' } },
  { manifest: '.vite/portal.json', input: { portal: 'portal.html', embed: 'src/embed/embed.ts' } },
  { manifest: '.vite/reference.json', input: { reference: 'src/reference/reference.ts' } },
];

/** The largest sizes in kB of compressed JavaScript: what each page loads, and each lazy part. */
const BUDGET = { 'first page': 170, portal: 130, embed: 1.2, reference: 3, 'code-editor': 150, other: 60 };

interface Chunk {
  file: string;
  name?: string;
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

type Manifest = Record<string, Chunk>;

/** The files that some chunks load at once. */
function filesOf(manifest: Manifest, keys: readonly string[]): Set<string> {
  const files = new Set<string>();
  const add = (key: string): void => {
    const chunk = manifest[key];
    if (chunk === undefined || files.has(chunk.file)) return;
    files.add(chunk.file);
    for (const one of chunk.imports ?? []) add(one);
  };
  for (const key of keys) add(key);
  return files;
}

function checkSizes(folder: string): string {
  const manifest = Object.assign(
    {},
    ...BUILDS.map((build) => JSON.parse(readFileSync(join(folder, build.manifest), 'utf8')) as Manifest),
  ) as Manifest;
  const kilobytes = (file: string): number => readFileSync(join(folder, `${file}.gz`)).length / 1000;
  const chunks = Object.entries(manifest).filter(([, { file }]) => file.endsWith('.js'));
  const overview = chunks.filter(([, { name }]) => name === 'overview').map(([key]) => key);
  const pages = {
    'first page': filesOf(manifest, ['index.html', ...overview]),
    portal: filesOf(manifest, ['portal.html']),
  };
  const atOnce = new Set(Object.values(pages).flatMap((files) => [...files]));
  const sizes = [
    ...Object.entries(pages).map(([name, files]) => ({
      name,
      size: [...files].reduce((sum, file) => sum + kilobytes(file), 0),
    })),
    ...chunks
      .filter(([, { file }]) => !atOnce.has(file))
      .map(([key, { file, name = key }]) => ({ name, size: kilobytes(file) })),
  ].map((one) => ({ ...one, limit: BUDGET[one.name as keyof typeof BUDGET] ?? BUDGET.other }));
  const tooLarge = sizes.filter(({ size, limit }) => size > limit);
  if (tooLarge.length > 0)
    throw new Error(
      tooLarge
        .map(({ name, size, limit }) => `web: ${name} has ${size.toFixed(1)} kB, more than ${limit} kB`)
        .join('\n'),
    );
  return sizes
    .filter(({ name }) => name in pages)
    .map(({ name, size }) => `${name} ${size.toFixed(1)} kB`)
    .join(', ');
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
    for (const { manifest, input } of BUILDS)
      await vite.build({
        root: dirname,
        configFile: join(dirname, 'vite.config.ts'),
        configLoader: 'native',
        logLevel: 'error',
        build: {
          outDir: fresh,
          emptyOutDir: false,
          manifest,
          rolldownOptions: {
            input: Object.fromEntries(
              Object.entries(input).map(([name, file]) => [name, join(dirname, file)]),
            ),
          },
        },
      });
    compress(fresh);
    const sizes = checkSizes(fresh);
    writeFileSync(join(fresh, '.stamp'), stamp);
    swap(fresh);
    process.stdout.write(
      `web: built in ${((performance.now() - started) / 1000).toFixed(1)} s, ${sizes} of JavaScript\n`,
    );
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Two test files may build at once: the folder of the other one can be there again after it was removed. */
function swap(fresh: string): void {
  for (let tries = 1; ; tries += 1) {
    rmSync(DIST, { recursive: true, force: true });
    try {
      return renameSync(fresh, DIST);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (tries === 10 || (code !== 'ENOTEMPTY' && code !== 'EEXIST')) throw error;
    }
  }
}

await main();
