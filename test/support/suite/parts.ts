import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import type { TestOptions } from 'vitest';

/**
 * Programs that some tests need and npm does not bring. Where one is missing, the tests that need it are skipped, and
 * the run lists them at its end with the command that installs it. With TEST_STRICT=1 a missing part fails the run.
 */
declare module 'vitest' {
  interface TaskMeta {
    /** The part that this machine lacks. */
    lacks?: PartKey;
  }
}

interface Part {
  name: string;
  install: string;
  isHere(): boolean;
}

/** The shell is Chromium without the windows. Its browser process takes half the CPU time: 15 s in the tests of the dashboard. */
const CHROMIUM_PATHS = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
export const chromiumPath = CHROMIUM_PATHS.find((path) => path !== '' && isProgram(path)) ?? null;

const FAKETIME_PATHS = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
);
export const faketimePath = FAKETIME_PATHS.find((path) => existsSync(path)) ?? null;

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const runs = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

export const parts = {
  chromium: {
    name: 'Chromium',
    install: 'apt-get install chromium-headless-shell (or set CHROMIUM_PATH)',
    isHere: () => chromiumPath !== null,
  },
  curl: { name: 'curl', install: 'apt-get install curl', isHere: () => runs('curl', '--version') },
  openssl: {
    name: 'openssl',
    install: 'apt-get install openssl',
    isHere: () => runs('openssl', 'version'),
  },
  python: {
    name: 'Python 3.9 or newer',
    install: 'apt-get install python3',
    isHere: () => runs('python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 9))'),
  },
  pythonCloudEvents: {
    name: 'Python package cloudevents 2',
    install: 'python3 -m pip install cloudevents (Python 3.10 or newer)',
    isHere: () => runs('python3', '-c', 'import cloudevents.core'),
  },
  pythonCryptography: {
    name: 'Python package cryptography',
    install: 'python3 -m pip install cryptography',
    isHere: () => runs('python3', '-c', 'import cryptography.hazmat.primitives.asymmetric.ed25519'),
  },
  go: { name: 'Go', install: 'apt-get install golang-go', isHere: () => runs('go', 'version') },
  php: { name: 'PHP', install: 'apt-get install php-cli', isHere: () => runs('php', '--version') },
  ruby: { name: 'Ruby', install: 'apt-get install ruby', isHere: () => runs('ruby', '--version') },
  bun: { name: 'Bun', install: 'npm install --global bun', isHere: () => runs('bun', '--version') },
  deno: { name: 'Deno', install: 'npm install --global deno', isHere: () => runs('deno', '--version') },
  ps: { name: 'ps and pgrep', install: 'apt-get install procps', isHere: () => runs('pgrep', '--version') },
  faketime: {
    name: 'libfaketime',
    install: 'apt-get install faketime',
    isHere: () => faketimePath !== null,
  },
  root: { name: 'root', install: 'sudo npm test', isHere: () => process.getuid?.() === 0 },
  unshare: {
    name: 'user namespaces',
    install: 'sysctl kernel.unprivileged_userns_clone=1',
    isHere: () => runs('unshare', '--user', '--map-user=1', 'true'),
  },
} satisfies Record<string, Part>;

export type PartKey = keyof typeof parts;

export const isStrict = process.env['TEST_STRICT'] === '1';

const found = new Map<PartKey, boolean>();

export function isHere(key: PartKey): boolean {
  let here = found.get(key);
  if (here === undefined) {
    here = parts[key].isHere();
    found.set(key, here);
  }
  return here;
}

/** The options of a test or suite that needs these parts. */
export function needs(...keys: PartKey[]): TestOptions {
  const lacks = keys.find((key) => !isHere(key));
  if (lacks === undefined) return {};
  if (isStrict) throw new Error(`this machine has no ${parts[lacks].name}: ${parts[lacks].install}`);
  return { skip: true, meta: { lacks } };
}
