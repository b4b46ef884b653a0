import { expect, test } from 'vitest';
import { runChaos } from './chaos-run.ts';
import { FAULT_KINDS } from './fault-schedule.ts';
import { LENIENT } from './judges/judge-limits.ts';

/** The short form of `npm run chaos`: each kind of fault about once. The seed is fixed so that a failure repeats. */
const SEED = 7;
test('two nodes under every kind of fault keep every promise: nothing lost, no retry used, limits exact', async () => {
  const said: string[] = [];
  const report = await runChaos({
    seed: SEED,
    nodes: 2,
    forMs: 18_000,
    pauseMs: 1_700,
    calmMs: 4_000,
    kinds: FAULT_KINDS,
    strictness: LENIENT,
    say: (line) => said.push(line),
  });
  const { problems } = report;
  expect({ problems, seed: SEED, plan: problems.length > 0 ? said : [] }).toEqual({
    problems: [],
    seed: SEED,
    plan: [],
  });
  expect(report.accepted).toBeGreaterThan(50);
  expect(report.faults.length).toBeGreaterThanOrEqual(6);
});
