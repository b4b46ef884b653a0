import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { keyIdOf } from '../../src/platform/sealer.ts';
import type { ApiClient } from '../support/client.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';

/** The key of the embedded database, in the same directory. */

function service() {
  const dataDir = join(temporaryFolder(), 'data');
  const programs: Program[] = [];
  onTestFinished(async () => void (await Promise.all(programs.map((program) => program.end()))));
  const run = (...args: string[]) => {
    const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: '0' };
    programs.push(new Program({ args, env }));
    return programs.at(-1) as Program;
  };
  const key = join(dataDir, 'secret.key');
  return { run, key, old: `${key}.old`, dataDir };
}

async function used<T>(
  { run, dataDir }: ReturnType<typeof service>,
  use: (project: ApiClient) => Promise<T>,
): Promise<T> {
  const program = run('serve');
  const url = await program.ready();
  const result = await use(clientOf(url, readCredentials(dataDir)));
  expect(await program.stop()).toEqual({ code: 0, signal: null });
  return result;
}

test('the key in the data directory is changed by one command while the service is stopped, and not while it runs', async () => {
  const posthorn = service();
  const made = await used(posthorn, async (project) => {
    const before = readFileSync(posthorn.key);
    const early = posthorn.run('reseal', '--new-key');
    expect((await early.ended).code).toBe(1);
    expect(early.stderr).toMatch(/^posthorn: .*in use|^posthorn: .*running|^posthorn: .*another/);
    expect(readFileSync(posthorn.key)).toEqual(before);
    return project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9/', secret: 'signing' });
  });
  const before = readFileSync(posthorn.key);
  // As it is left by a kill between keeping the old key and making the new one.
  writeFileSync(posthorn.old, before, { mode: 0o600 });
  const reseal = posthorn.run('reseal', '--new-key');
  expect(await reseal.ended, reseal.stderr).toEqual({ code: 0, signal: null });
  const after = readFileSync(posthorn.key);
  expect(after).not.toEqual(before);
  expect(statSync(posthorn.key).mode & 0o777).toBe(0o600);
  expect(reseal.stdout).toContain('endpoints: 1 sealed again');
  expect(reseal.stdout).toContain(`The secret key ${keyIdOf(before)} is no longer in use.`);
  expect(existsSync(posthorn.old)).toBe(false);
  const read = await used(posthorn, (project) => project.get(`/endpoints/${made.uid}`));
  expect(read.secrets).toEqual(made.secrets);
});
