import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readPlan, savePlan } from './plan-record.ts';

it('a file without a plan has no record, and a record that cannot be read is no missing one', async () => {
  const home = await mkdtemp(join(tmpdir(), 'posthorn-plans-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const place = { url: 'http://127.0.0.1', project: 'p', file: 'p.yaml', env: { XDG_STATE_HOME: home } };
  expect(await readPlan(place)).toBeUndefined();
  await savePlan(place, '7');
  expect(await readPlan(place)).toMatchObject({ config_version: '7' });
  const folder = join(home, 'posthorn/plans');
  const [name = ''] = await readdir(folder);
  await writeFile(join(folder, name), 'half a rec');
  await expect(readPlan(place)).rejects.toThrow('plan again');
});
