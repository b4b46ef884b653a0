import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { goalsOf, type ScalingResults } from '../../bench/scaling.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';

test('the database cost of an event does not grow with nodes', async () => {
  const file = join(temporaryFolder(), 'results.json');
  const options = ['scaling', '--smoke', '--only', 'nodes', '--json', file];
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', ...options]);
  const { figures, goals } = JSON.parse(await readFile(file, 'utf8')) as ScalingResults;

  expect(Object.keys(figures)).toEqual(['nodes']);
  for (const sample of Object.values(figures).flatMap((steps) => Object.values(steps))) {
    // Event, delivery and queue row are inserted. Few attempts have a row, and few templates are new.
    const rows = {
      rowsInserted: expect.closeTo(3, 1),
      rowsDeleted: expect.closeTo(1, 1),
      retried_rowsDeleted: expect.closeTo(1, 1),
    };
    expect(sample).toMatchObject({ lost: 0, retried_lost: 0, ...rows });
  }
  // How large batches are is a matter of chance on a busy machine: round trips are for the benchmark to judge.
  const counted = goals.filter(({ name }) => !name.startsWith('round trips'));
  expect(counted).toHaveLength(6);
  expect(counted.filter(({ met }) => !met)).toEqual([]);
  expect(stdout).toContain('| nodes |');
}, 300_000);

test('a cost that grows along an axis fails its goal', () => {
  const step = (buffers: number) => ({
    buffers,
    walBytes: 3_000,
    rowVersions: 6,
    roundTrips: 0.1,
    retried_buffers: 80,
    retried_walBytes: 5_000,
    retried_rowVersions: 10,
  });
  const missed = (last: number) =>
    goalsOf({ nodes: { 1: step(40), 4: step(last) } })
      .filter(({ met }) => !met)
      .map(({ name }) => name);
  expect(missed(44)).toEqual([]);
  expect(missed(60)).toEqual(['buffers per event over nodes']);
});
