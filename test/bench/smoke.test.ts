import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Sample } from '../../bench/figure.ts';
import { PAYLOAD, writeEvent } from '../../bench/payload.ts';
import type { Results } from '../../bench/report/report.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';

test('the benchmark runs, counts its events, and writes figures and goals', async () => {
  const file = join(temporaryFolder(), 'results.json');
  const names = [
    'end_to_end',
    'watchers',
    'events_batch',
    'relay_floor',
    'tail',
    'idle',
    'start',
    'full_tables',
    'soak',
  ];
  const options = ['--smoke', '--only', names.join(','), '--json', file];
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', ...options]);
  const results = JSON.parse(await readFile(file, 'utf8')) as Results;

  expect(results.machine).toMatchObject({ cores: expect.any(Number), node: process.version });
  const { idle, start, ...loaded } = results.figures;
  expect([...Object.keys(results.figures), ...Object.keys(results.skipped)].toSorted()).toEqual(
    names.toSorted(),
  );
  for (const figure of Object.values(loaded)) {
    expect(figure).toMatchObject({ lost: 0, duplicates: 0 });
    expect(figure['events']).toBeGreaterThan(0);
    expect(figure['p99Ms']).toBeGreaterThanOrEqual(figure['p50Ms'] as number);
  }
  expect(results.figures['end_to_end']).toMatchObject({ hotShare: 1, microsGc: expect.any(Number) });
  expectCosts(results.figures['end_to_end'] ?? {});
  expectMinutes(results.figures['tail'] ?? {});
  expect(results.figures['watchers']).toMatchObject({ watchers: 10, ratio: expect.any(Number) });
  expect(results.figures['full_tables']).toMatchObject({ stored: 20_000, ratio: expect.any(Number) });
  expect(results.figures['soak']).toMatchObject({ queueMbLast: expect.any(Number), seconds: 2 });
  expect(results.goals.filter(({ name }) => name.startsWith('soak: '))).toHaveLength(4);
  expect(results.goals).toContainEqual({
    name: 'end to end over relay floor',
    value: expect.any(Number),
    goal: 'at least 0.4',
    met: expect.any(Boolean),
  });
  expect(stdout).toContain('| relay_floor');
  const goals = results.goals.map(({ name }) => name);
  expect(goals).not.toContain('idle publish to receive, p50');
  // The rest is read from /proc.
  if (process.platform !== 'linux') return;
  expect(goals).toEqual(expect.arrayContaining(COST_GOALS));
  expectPositive(idle, ['memoryMb', 'pssMb']);
  expect(idle?.['memoryMb']).toBeGreaterThanOrEqual(idle?.['pssMb'] as number);
  expectPositive(start, ['seconds', 'cpuServiceSeconds', 'cpuDatabaseSeconds']);
});

const COST_GOALS = [
  'disk per million 800-byte events',
  "service CPU per event over the relay's",
  'database CPU per event',
  'p99 of the worst minute at 70 % load',
  'idle memory of service and database',
  'CPU of a start',
];

function expectPositive(sample: Sample | undefined, names: string[]): void {
  for (const name of names) expect(sample?.[name], name).toBeGreaterThan(0);
}

/** The attempt is read from the table that has it, and the parts of the disk are all of it. */
function expectCosts(sample: Sample): void {
  expectPositive(sample, ['allocatedBytes', 'walBesidePayloadAndAttempt', 'disk_events_heap']);
  expectPositive(sample, ['disk_event_deliveries_pkey', 'disk_delivery_attempts_heap']);
  const parts = Object.keys(sample).filter((name) => name.startsWith('disk_'));
  const sum = parts.reduce((total, name) => total + (sample[name] as number), 0);
  expect(sample['diskPerEvent']).toBeCloseTo(sum, 3);
  expect(sum).toBeGreaterThan(PAYLOAD.length);
}

function expectMinutes(sample: Sample): void {
  const p99s = [1, 2].map((minute) => sample[`minute${minute}_p99Ms`] as number);
  expect(sample['worst_p99Ms']).toBe(Math.max(...p99s));
  for (const name of ['checkpoints', 'checkpointMb', 'vacuums', 'walFullPages', 'backendMb'])
    expect(sample[`minute2_${name}`], name).toBeGreaterThanOrEqual(0);
  expectPositive(sample, ['minute1_p50Ms', 'minute2_walMb', 'minute2_walSyncs']);
}

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
