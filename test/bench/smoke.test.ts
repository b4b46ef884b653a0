import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { PAYLOAD, writeEvent } from '../../bench/payload.ts';
import type { Results } from '../../bench/report/report.ts';

test('the benchmark runs, counts its events, and writes figures and goals', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-smoke-'));
  const file = join(directory, 'results.json');
  const options = ['--smoke', '--only', 'end_to_end,watchers,relay_floor,full_tables,soak', '--json', file];
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', ...options]);
  const results = JSON.parse(await readFile(file, 'utf8')) as Results;
  await rm(directory, { recursive: true });

  expect(results.machine).toMatchObject({ cores: expect.any(Number), node: process.version });
  expect(Object.keys(results.figures)).toEqual([
    'end_to_end',
    'watchers',
    'relay_floor',
    'full_tables',
    'soak',
  ]);
  for (const figure of Object.values(results.figures)) {
    expect(figure).toMatchObject({ lost: 0, duplicates: 0 });
    expect(figure['events']).toBeGreaterThan(0);
    expect(figure['p99Ms']).toBeGreaterThanOrEqual(figure['p50Ms'] as number);
  }
  expect(results.figures['end_to_end']).toMatchObject({ hotShare: 1 });
  expect(results.figures['watchers']).toMatchObject({ watchers: 10, ratio: expect.any(Number) });
  expect(results.figures['full_tables']).toMatchObject({ stored: 20_000, ratio: expect.any(Number) });
  expect(results.figures['soak']).toMatchObject({ queueMbLast: expect.any(Number), seconds: 2 });
  expect(results.goals.filter(({ name }) => name.startsWith('soak: '))).toHaveLength(4);
  expect(results.goals).toContainEqual({
    name: 'end to end over relay floor',
    value: expect.any(Number),
    goal: 'at least 0.5',
    met: expect.any(Boolean),
  });
  expect(stdout).toContain('| relay_floor');
});

test('a payload is 800 bytes of JSON, and no two are alike', () => {
  const [one, other] = [1, 2].map((number) => {
    const bytes = Buffer.from(PAYLOAD);
    writeEvent(bytes, 0, { number, dueMicros: 5 });
    return bytes;
  }) as [Buffer, Buffer];
  expect([one.length, other.length]).toEqual([800, 800]);
  const orders = [one, other].map(
    (bytes) => (JSON.parse(bytes.toString()) as { order: { id: string } }).order,
  );
  expect(orders[0]?.id).not.toBe(orders[1]?.id);
  // A filler of one letter would compress to a tenth.
  expect(deflateSync(one).length).toBeGreaterThan(400);
});

test('the benchmark refuses a figure that does not exist', async () => {
  const run = promisify(execFile)(process.execPath, ['bench/run.ts', '--only', 'warp_speed']);
  await expect(run).rejects.toThrow('no figure warp_speed');
});
