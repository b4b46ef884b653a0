import { expect, test } from 'vitest';
import { runChaos } from './chaos-run.ts';

/** The short form of `npm run chaos`: each kind of fault about once. The seed is fixed so that a failure repeats. */
const SEED = 7;

test('two nodes under every kind of fault lose nothing, and every duplicate is explained by a fault', async () => {
  const said: string[] = [];
  const report = await runChaos({
    seed: SEED,
    nodes: 2,
    forMs: 10_000,
    pauseMs: 2_500,
    say: (line) => said.push(line),
  });
  expect({ problems: report.problems, seed: SEED, plan: report.problems.length > 0 ? said : [] }).toEqual({
    problems: [],
    seed: SEED,
    plan: [],
  });
  expect(report.accepted).toBeGreaterThan(50);
  expect(report.faults.length).toBeGreaterThanOrEqual(3);
}, 180_000);
