import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { temporaryFolder } from '../support/samples/temporary-folder.ts';

/** bin/posthorn with a Node of npm ci that does not start, as on a minimal Debian. */
const ROOT = join(import.meta.dirname, '../..');
const BROKEN = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file';
let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
  for (const path of ['app/bin', 'app/node_modules/.bin', 'machine', 'older', 'tools'])
    mkdirSync(join(folder, path), { recursive: true });
  cpSync(join(ROOT, 'bin/posthorn'), join(folder, 'app/bin/posthorn'));
  // Not /usr/bin itself: a Node may be there.
  for (const tool of ['dirname', 'readlink', 'sleep'])
    symlinkSync(join('/usr/bin', tool), join(folder, 'tools', tool));
  symlinkSync(join(ROOT, 'src'), join(folder, 'app/src'));
  symlinkSync(join(ROOT, 'node_modules/isolated-vm'), join(folder, 'app/node_modules/isolated-vm'));
});

function script(path: string, text: string): void {
  const file = join(folder, path);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

const breakPinned = (message = BROKEN) =>
  script('app/node_modules/.bin/node', `echo "${message}" >&2\nexit 127`);

/** As npm has it: node_modules/.bin first. */
function run(
  args: string[],
  given: Record<string, string> = {},
  further: string[] = [],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const places = ['app/node_modules/.bin', 'older', 'machine', 'tools', ...further].map((place) =>
    join(folder, place),
  );
  const env = { ...process.env, ...given, PATH: places.join(':') };
  return new Promise((resolve) => {
    execFile(join(folder, 'app/bin/posthorn'), args, { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

/** Says what it was called with and in which process, or runs nothing. */
const fakeNode = (version: string) =>
  `[ "$1" = --version ] && { echo ${version}; exit 0; }\necho "${version} in $$:" "$@"`;

test('the Node of npm ci is used if it starts', async () => {
  script('app/node_modules/.bin/node', fakeNode('v26.10.0'));
  script('machine/node', fakeNode('v30.0.0'));
  const { code, stdout } = await run(['serve', 'a b']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^v26\.10\.0 in \d+: .*src\/main\.ts serve a b\n$/);
});

test('if it does not start, the first Node on the machine that is new enough is used, with the same arguments', async () => {
  breakPinned();
  script('older/node', fakeNode('v22.3.0'));
  symlinkSync(process.execPath, join(folder, 'machine/node'));
  const { code, stdout, stderr } = await run(['version']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(`posthorn ${manifest.version}\n`);
});

test.each([
  ['v24.6.9', false],
  ['v24.7.0', true],
  ['v24.12.1', true],
  ['v25.0.0', true],
  ['v23.9.0', false],
  ['v9.11.0', false],
  ['nonsense', false],
])('the installed %s is new enough: %s', async (version, isEnough) => {
  breakPinned();
  script('machine/node', fakeNode(version));
  const { code, stdout } = await run(['serve']);
  expect([code, stdout.startsWith(version)]).toEqual(isEnough ? [0, true] : [1, false]);
});

test('without one it names what to install', async () => {
  breakPinned();
  script('older/node', fakeNode('v22.3.0'));
  // New enough, and without the native module.
  script('machine/node', `[ "$1" = -e ] && exit 1\n${fakeNode('v99.0.0')}`);
  const { code, stdout, stderr } = await run(['serve']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('libatomic.so.1');
  expect(stderr).toMatch(/apt-get install libatomic1\b.* or Node 24\.7 or newer\n$/);
});

test('without npm ci, or without its Node, one line says what to do', async () => {
  const { code, stderr } = await run(['serve']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^posthorn: .*install Node 24\.7 or newer, or run npm ci.*\n$/);
});

test('npm ci --omit=dev succeeds without a Node to build the pages with, and says so in one line', async () => {
  script('older/node', fakeNode('v22.3.0'));
  symlinkSync(join(ROOT, 'web'), join(folder, 'app/web'));
  const installed = await run(['build-pages'], { npm_lifecycle_event: 'prepare' });
  expect([installed.code, installed.stdout]).toEqual([0, '']);
  expect(installed.stderr).toMatch(/^posthorn: the pages are not built .*install Node 24\.7 or newer\n$/);
  // The start that follows says it.
  const starting = await run(['build-pages'], { npm_lifecycle_event: 'prestart' });
  expect(starting).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a Node of another installation counts as one of the machine', async () => {
  breakPinned();
  mkdirSync(join(folder, 'machine/node_modules/node/bin'), { recursive: true });
  script('machine/node_modules/node/bin/node', fakeNode('v26.0.0'));
  const { stdout } = await run(['serve'], {}, ['machine/node_modules/node/bin']);
  expect(stdout).toMatch(/^v26\.0\.0 /);
});

test('signals reach the program: the launcher becomes it', async () => {
  breakPinned();
  script(
    'machine/node',
    `[ "$1" = --version ] && { echo v26.0.0; exit 0; }\n[ "$1" = -e ] && exit 0\nkill -TERM $$\nsleep 30`,
  );
  const places = [join(folder, 'machine'), join(folder, 'tools')].join(':');
  const signal = await new Promise((resolve) => {
    execFile(join(folder, 'app/bin/posthorn'), ['serve'], { env: { PATH: places } }, (error) =>
      resolve(error?.signal),
    );
  });
  expect(signal).toBe('SIGTERM');
});

test('malloc returns memory of large buffers to the system, unless set otherwise', async () => {
  const say = 'echo $MALLOC_ARENA_MAX $MALLOC_MMAP_THRESHOLD_ $MALLOC_TRIM_THRESHOLD_';
  script('app/node_modules/.bin/node', `[ "$1" = --version ] || ${say}`);
  expect((await run(['serve'])).stdout).toBe('2 262144 16777216\n');
  expect((await run(['serve'], { MALLOC_ARENA_MAX: '8' })).stdout).toBe('8 262144 16777216\n');
});

test('Node keeps compiled code in the installation, private, unless that cannot be written', async () => {
  script('app/node_modules/.bin/node', '[ "$1" = --version ] || echo $NODE_COMPILE_CACHE');
  symlinkSync('/usr/bin/mkdir', join(folder, 'tools/mkdir'));
  const place = join(folder, 'app/node_modules/.cache/posthorn');
  writeFileSync(join(folder, 'app/node_modules/.cache'), 'a file, in which no folder can be made');
  const env = { NODE_COMPILE_CACHE: '' };
  expect(await run(['serve'], env)).toEqual({ code: 0, stdout: '\n', stderr: '' });
  rmSync(join(folder, 'app/node_modules/.cache'));
  const { stdout } = await run(['serve'], env);
  expect(realpathSync(stdout.trim())).toBe(realpathSync(place));
  expect(statSync(place).mode & 0o777).toBe(0o700);
  expect((await run(['serve'], { NODE_COMPILE_CACHE: '/elsewhere' })).stdout).toBe('/elsewhere\n');
});

test('npm start works the same way', () => {
  expect(manifest.scripts.start).toBe('exec bin/posthorn serve');
});
