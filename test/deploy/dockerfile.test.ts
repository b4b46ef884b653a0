import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../src/settings/settings.ts';
import { SECRET_KEY, startTestApp, type TestApp } from '../support/app.ts';

/**
 * No container engine is needed: the Dockerfile is read, its files are put together as it says, and its commands are
 * run on them with this machine's Node.
 */
const ROOT = join(import.meta.dirname, '../..');
/** Each starts a program or two, on a machine that may be busy. */
const SLOW = { timeout: 120_000 };
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const dockerfile = read('deploy/Dockerfile');

interface Instruction {
  name: string;
  rest: string;
}

const instructions: Instruction[] = dockerfile
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    return { name, rest };
  });
const all = (name: string): string[] =>
  instructions.filter((one) => one.name === name).map(({ rest }) => rest);
const json = (text: string): string[] => JSON.parse(text) as string[];
const last = (name: string): string => all(name).at(-1) ?? '';

test('the Dockerfile passes a validator', () => {
  expect(validate(dockerfile)).toEqual([]);
  expect(validate(dockerfile.replace('EXPOSE 5005', 'EXPOSE port')).length).toBeGreaterThan(0);
});

test('it has the Node that the project is developed with', () => {
  const { devDependencies } = JSON.parse(read('package.json')) as {
    devDependencies: Record<string, string>;
  };
  expect(all('ARG')).toEqual([`NODE_VERSION=${devDependencies['node']}`]);
  expect(all('FROM').map((from) => from.split(' ')[0])).toEqual(
    Array.from({ length: 3 }, () => ['node:$', '{NODE_VERSION}-slim'].join('')),
  );
});

test('the program does not run as root and writes to /data', () => {
  expect(last('USER')).toBe('node');
  expect(last('VOLUME')).toBe('/data');
  const names = Object.values<{ env: string }>(settings).map(({ env }) => env);
  const given = [...last('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]);
  expect(given).toContainEqual(['POSTHORN_DATA_DIR', '/data']);
  const others = given.filter(([name = '']) => !names.includes(name)).map((pair) => pair.join('='));
  // Those of malloc as the launcher has them.
  const malloc = read('bin/posthorn').matchAll(/export (MALLOC_\w+)=.*:-(\d+)/g);
  expect(others).toEqual([
    'NODE_ENV=production',
    ...[...malloc].map(([, name, value]) => `${name}=${value}`),
  ]);
  expect(others).toHaveLength(4);
});

test('the program imports no development dependency', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const imported = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => [...read(file).matchAll(/^(?:import|export)\s[^;]*?from '([^.'][^']*)';$/gm)])
    .map(([line, name = '']) => ({ line, name }))
    .filter(({ line, name }) => !isBuiltin(name) && !line.startsWith('import type'))
    .map(({ name }) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  expect(new Set(imported).size).toBeGreaterThan(5);
  expect([...new Set(imported)].filter((name) => dependencies[name] === undefined)).toEqual([]);
});

describe('the files it copies', () => {
  const copied = all('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => {
      const paths = rest.split(/\s+/);
      return paths.slice(0, -1).map((from) => ({ from, to: paths.at(-1) ?? '' }));
    });

  test('exist and are not ignored', () => {
    const kept = read('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect(copied.length).toBeGreaterThan(3);
    expect(copied.filter(({ from }) => !existsSync(join(ROOT, from)))).toEqual([]);
    expect([...new Set(copied.map(({ from }) => from))].toSorted()).toEqual(kept.toSorted());
  });

  describe('with the entry point', () => {
    let app: TestApp;
    let image: string;
    beforeAll(async () => {
      app = await startTestApp();
      image = mkdtempSync(join(tmpdir(), 'posthorn-image-'));
      for (const { from, to } of copied) {
        const target = to === './' ? join(image, from) : join(image, to);
        cpSync(join(ROOT, from), target, {
          recursive: true,
          filter: (path) => !path.endsWith('.test.ts'),
        });
      }
      symlinkSync(join(ROOT, 'node_modules'), join(image, 'node_modules'));
    });
    afterAll(async () => {
      await app?.stop();
      if (image !== undefined) rmSync(image, { recursive: true, force: true });
    });

    const run = (args: string[], env: Record<string, string> = {}) => {
      const [command = '', ...rest] = args;
      expect(command).toBe('node');
      return promisify(execFile)(process.execPath, rest, { cwd: image, env });
    };

    const migrate = () =>
      run([...json(last('ENTRYPOINT')), 'migrate'], {
        DATABASE_URL: app.database.url,
        POSTHORN_SECRET_KEY: 'a secret key for tests only, 32+ characters',
      });

    test('are enough to load the whole program', SLOW, async () => {
      expect(json(last('CMD'))).toEqual(['serve']);
      const entry = json(last('ENTRYPOINT'));
      // A command of the client side, and the server, which is read before its database is looked for.
      await expect(run([...entry, 'events'])).rejects.toThrow('there is no key');
      const env = {
        DATABASE_URL: 'postgres://127.0.0.1:1/none',
        POSTHORN_SECRET_KEY: SECRET_KEY,
        POSTHORN_PORT: '0',
      };
      await expect(run([...entry, 'serve'], env)).rejects.toThrow(
        'the database at DATABASE_URL cannot be used',
      );
    });

    test('are enough to migrate a database, and would not be without the migrations', SLOW, async () => {
      await migrate();
      rmSync(join(image, 'migrations'), { recursive: true });
      await expect(migrate()).rejects.toThrow(/migrations/);
    });

    test('distinguish a ready node from others by the health check', SLOW, async () => {
      const check = json(/CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1] ?? '');
      await run(check, { POSTHORN_PORT: new URL(app.url).port });
      await app.app.stop();
      await expect(run(check, { POSTHORN_PORT: new URL(app.url).port })).rejects.toMatchObject({ code: 1 });
    });
  });
});
