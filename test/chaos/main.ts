import { parseArgs } from 'node:util';
import { runChaos } from './chaos-run.ts';

/** npm run chaos -- --minutes N --nodes N --seed N */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    nodes: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    pause: { type: 'string', default: '8' },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
const report = await runChaos({
  seed,
  nodes: Number(values.nodes),
  forMs: Number(values.minutes) * 60_000,
  pauseMs: Number(values.pause) * 1_000,
  say: (line) => console.log(line),
});
const { duplicates, problems, faults, ...figures } = report;
const startedAt = faults[0]?.from ?? 0;
const seconds = (at: number) => ((at - startedAt) / 1000).toFixed(1);
for (const fault of faults)
  console.log(
    `fault: ${seconds(fault.from)} to ${seconds(fault.to)} s ${fault.kind} ${fault.node} ${fault.pid ?? ''}`,
  );
for (const { deliveryId, receipts, faults: causes } of duplicates) {
  const tries = receipts.map(({ at, pid, character }) => `${seconds(at)} s by ${pid} to ${character}`);
  console.log(`duplicate: ${deliveryId} ${tries.join(', ')}; explained by ${causes.join(', ') || 'nothing'}`);
}
console.log({ seed, ...figures, faults: faults.length, duplicates: duplicates.length });
for (const problem of problems) console.log(`PROBLEM: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);
