import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { promisify } from 'node:util';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../src/settings/settings.ts';
import { clientOf, freePort, Program, readCredentials } from '../support/program.ts';
import { ImageBuild } from './image/build.ts';
import { all, dockerfile, json, last, pairs, ROOT, read } from './image/dockerfile.ts';

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
  const given = pairs(last('ENV'));
  expect(given).toContainEqual(['POSTHORN_DATA_DIR', '/data']);
  const others = given.filter(([name]) => !names.includes(name)).map((pair) => pair.join('='));
  // The settings of malloc are those of the launcher.
  const malloc = read('bin/posthorn').matchAll(/export (MALLOC_\w+)=.*:-(\d+)/g);
  expect(others).toEqual([
    'NODE_ENV=production',
    ...[...malloc].map(([, name, value]) => `${name}=${value}`),
    'NODE_COMPILE_CACHE=/app/.compile-cache',
  ]);
  expect(others).toHaveLength(5);
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

/** image/build.ts says which parts of a build are real here. */
describe('the image', () => {
  let image: ImageBuild;
  beforeAll(async () => {
    image = await ImageBuild.run();
  });
  afterAll(() => image?.stop());

  test('starts, is healthy, answers, sends its pages and stops', async () => {
    const entry = [...json(last('ENTRYPOINT')), ...json(last('CMD'))];
    const check = json(/CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1] ?? '');
    const env = { ...image.env, POSTHORN_PORT: String(await freePort()) };
    const compiled = () => globSync('*/*', { cwd: image.path('/app/.compile-cache') }).length;
    const before = compiled();
    // A start loads few files, since the service is bundled.
    expect([before > 10, before < 200]).toEqual([true, true]);
    const program = new Program({ command: entry, cwd: image.cwd, env });
    const runInside = ([file = '', ...args]: string[]) =>
      promisify(execFile)(file, args, { cwd: image.cwd, env });
    try {
      await program.ready();
      await runInside(check);
      const url = `http://127.0.0.1:${env.POSTHORN_PORT}`;
      const client = clientOf(url, readCredentials(image.path('/data')));
      await client.post('/events/broadcast', { event_type: 'invoice.paid', data: { invoice: 7 } });
      // A command of the client side.
      const { stdout } = await runInside([...json(last('ENTRYPOINT')), 'events', '--output', 'json']);
      expect(stdout).toContain('invoice.paid');
      for (const path of ['/', '/docs']) expect(await (await fetch(url + path)).text()).toContain('<title>');
      expect(await program.stop()).toEqual({ code: 0, signal: null });
      // Few modules are read only when they are needed.
      expect(compiled() - before).toBeLessThan(60);
      await expect(runInside(check)).rejects.toMatchObject({ code: 1 });
    } finally {
      await program.end();
    }
  });
});
