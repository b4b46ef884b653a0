import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runBrokers } from './brokers/brokers-run.ts';
import { runChaos } from './chaos-run.ts';
import { FAULT_KINDS, type FaultKind } from './fault-schedule.ts';
import { STRICT } from './judges/judge-limits.ts';
import { showReceipt, showTime } from './judges/show.ts';

/**
 * npm run chaos -- --minutes N --nodes N --seed N
 *   --minutes N   how long the load runs (2)
 *   --nodes N     how many nodes (3)
 *   --seed N      seed of the schedule and the mix of events
 *   --rate N      events per second, most of them in calls with many (about 200, in single calls)
 *   --pause N     mean seconds between faults (8)
 *   --calm N      seconds of calm before each round of faults (20)
 *   --faults A,B  only these kinds of fault, such as "pause node,delay database"
 *   --logs DIR    writes the logs of the nodes to this directory
 *   --moves N     instead: moves a project between cells, with a kill at each step of a move, until N have arrived
 *   --json FILE   writes the figures, which `npm run proof -- --chaos FILE` takes instead of a run
 *   --brokers     from Kafka to RabbitMQ instead, with kills of both (test/chaos/brokers)
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    nodes: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    pause: { type: 'string', default: '8' },
    calm: { type: 'string', default: '20' },
    faults: { type: 'string', default: FAULT_KINDS.join(',') },
    rate: { type: 'string' },
    logs: { type: 'string' },
    moves: { type: 'string' },
    json: { type: 'string' },
    brokers: { type: 'boolean', default: false },
  },
});
const kinds = values.faults.split(',').filter((kind) => kind !== '') as FaultKind[];
const unknown = kinds.filter((kind) => !(FAULT_KINDS as readonly string[]).includes(kind));
if (unknown.length > 0)
  throw new Error(`no such fault: ${unknown.join(', ')}. There are: ${FAULT_KINDS.join(', ')}.`);
const seed = Number(values.seed);
console.log(`seed ${seed}`);
if (values.moves !== undefined) {
  const { reportMoves } = await import('./moves/report-moves.ts');
  process.exit(await reportMoves({ arrivals: Number(values.moves), nodes: Number(values.nodes), seed }));
}
if (values.brokers) {
  const { problems: lost, ...figures } = await runBrokers({
    seed,
    nodes: Number(values.nodes),
    forMs: Number(values.minutes) * 60_000,
    pauseMs: Number(values.pause) * 1_000,
    say: (line) => console.log(line),
  });
  console.log({ seed, ...figures });
  for (const text of lost) console.log(`PROBLEM: ${text}`);
  process.exit(lost.length === 0 ? 0 : 1);
}
const report = await runChaos({
  seed,
  nodes: Number(values.nodes),
  forMs: Number(values.minutes) * 60_000,
  pauseMs: Number(values.pause) * 1_000,
  calmMs: Number(values.calm) * 1_000,
  kinds,
  rate: values.rate === undefined ? undefined : Number(values.rate),
  strictness: STRICT,
  say: (line) => console.log(line),
});
const { duplicates, problems, faults, limits, pauses, logs, ...figures } = report;
if (values.logs !== undefined) {
  await mkdir(values.logs, { recursive: true });
  for (const [name, text] of logs) await writeFile(join(values.logs, `${name}.log`), text);
}
if (values.json !== undefined)
  await writeFile(
    values.json,
    JSON.stringify({ ...report, seed, minutes: Number(values.minutes), logs: {} }),
  );
console.log(`times count from ${new Date(faults[0]?.from ?? 0).toISOString()}`);
for (const { kind, node, pid, from, to, delayMs } of faults)
  console.log(
    `fault: ${showTime(from, report)} to ${showTime(to, report)} ${kind} ${node} ${pid ?? ''} ${delayMs || ''}`,
  );
for (const { deliveryId, receipts, faults: causes } of duplicates) {
  const tries = receipts.map((receipt) => showReceipt(receipt, report));
  console.log(`duplicate: ${deliveryId} ${tries.join(', ')}; explained by ${causes.join(', ') || 'nothing'}`);
}
console.log({ seed, ...figures, faults: faults.length, duplicates: duplicates.length });
for (const { character, most, limit, shares } of limits)
  console.log(`limit: ${character} at most ${most} where ${limit} are allowed`, shares);
for (const { kind, times, acceptingMs, sendingMs } of pauses)
  console.log(`pause: ${kind} ${times} times, accepting ${acceptingMs} ms, sending ${sendingMs} ms at most`);
for (const { promise, text } of problems) console.log(`PROBLEM: ${promise}: ${text}`);
process.exit(problems.length === 0 ? 0 : 1);
