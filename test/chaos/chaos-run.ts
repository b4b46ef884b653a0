import { readCredentials } from '../support/program.ts';
import { BulkLoad } from './bulk-load.ts';
import { ChaosDatabase } from './chaos-database.ts';
import { ChaosLoad } from './chaos-load.ts';
import { ChaosNode, LOST_DATABASE } from './chaos-node.ts';
import type { Character } from './characters.ts';
import { DatabaseRelays } from './database-relays.ts';
import { type Fault, FaultInjector } from './fault-injector.ts';
import { planFaults, type ScheduleOptions } from './fault-schedule.ts';
import type { Strictness } from './judges/judge-limits.ts';
import type { Problem, Problems } from './judges/problems.ts';
import { judge, type Verdict } from './judges/verdict.ts';
import { createBulkMix, createMix } from './load-mix.ts';
import { ReceiverProcess } from './receiver/receiver-process.ts';
import { Service } from './service.ts';
import { readStored } from './stored.ts';
import { untilSignal } from './until-signal.ts';

/**
 * Nodes, a database, endpoints of every character and a load, with faults by a seeded schedule. Then the
 * endpoints heal, the queue must drain, and the verdict is computed.
 */
export interface ChaosOptions extends ScheduleOptions {
  /** Events per second. Absent: as many as single calls with pauses make. */
  rate?: number | undefined;
  strictness: Strictness;
  say(line: string): void;
}

export interface ChaosReport extends Omit<Verdict, 'problems'> {
  problems: Problem[];
  accepted: number;
  refused: Record<string, number>;
  slowestAnswerMs: number;
  drainedInMs: number;
  /** The longest delay with which the harness itself may have noticed a request. */
  slowestLookMs: number;
  faults: Fault[];
  /** The output of each process, by node and process. */
  logs: Map<string, string>;
}

interface World {
  database: ChaosDatabase;
  relays: DatabaseRelays;
  receiver: ReceiverProcess;
  nodes: ChaosNode[];
}

/** Long enough for a takeover, an open breaker and the retries behind it. */
const DRAIN_MS = 90_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const database = await ChaosDatabase.start();
  const relays = await DatabaseRelays.start(database, options.nodes);
  const receiver = await ReceiverProcess.start();
  const nodes: ChaosNode[] = [];
  try {
    return await untilSignal(runIn({ database, relays, receiver, nodes }, options));
  } finally {
    for (const node of nodes) await node.end();
    await receiver.stop();
    await relays.stop();
    await database.stop();
  }
}

async function runIn(world: World, options: ChaosOptions): Promise<ChaosReport> {
  const { database, relays, receiver, nodes } = world;
  const started = (pid: number) => receiver.started(pid);
  // Each node reaches the database through its own relay, and trusts the certificate of the receiver.
  for (let n = 0; n < options.nodes; n++) {
    const env = { POSTHORN_CA_FILE: receiver.authorityFile };
    nodes.push(await ChaosNode.place(`node-${n}`, relays.urlOf(n), env));
  }
  for (const node of nodes) await node.start(started);
  const [first] = nodes as [ChaosNode];
  const { project_id, api_key } = readCredentials(first.dataDir);
  const service = new Service(first.url, { projectId: project_id, key: api_key });
  const endpoints = await service.subscribe(receiver);
  const characters = new Map([...endpoints].map(([name, id]) => [id, name]));
  const load = startLoad(world, { service, endpoints, ...options });
  const bulk = startBulk(world, load, { service, endpoints, ...options });
  const injector = new FaultInjector({ ...world, started });
  const schedule = planFaults(options);
  for (const { afterMs, kind, node, lastsMs, delayMs } of schedule)
    options.say(
      `plan: ${(afterMs / 1000).toFixed(1)} s ${kind} ${node ?? ''} ${lastsMs || ''} ${delayMs || ''}`,
    );
  await Promise.all([injector.run(schedule), new Promise((resolve) => setTimeout(resolve, options.forMs))]);
  await Promise.all([load.stop(), bulk?.stop()]);
  receiver.heal();
  const drainedInMs = await drained(database);
  const { receipts, tokenWaits, slowestLookMs } = await receiver.finish();
  const { problems, ...verdict } = judge(await readStored(database), {
    load,
    receipts,
    faults: injector.faults,
    tokenWaits,
    characterOf: (id) => characters.get(id) as Character,
    strictness: options.strictness,
  });
  await stopCleanly(nodes, database, problems);
  return {
    ...verdict,
    problems: problems.list,
    accepted: load.accepted.size,
    refused: Object.fromEntries(load.refused),
    slowestAnswerMs: Math.round(load.slowestMs),
    drainedInMs,
    slowestLookMs,
    faults: injector.faults,
    logs: new Map(
      nodes.flatMap(({ name, programs }) => programs.map(({ pid, stderr }) => [`${name}-${pid}`, stderr])),
    ),
  };
}

interface LoadOptions {
  service: Service;
  endpoints: Map<Character, string>;
  seed: number;
  rate?: number | undefined;
  /** The mean pause of a sender between two calls. */
  paceMs?: number;
}

export function startLoad(
  { nodes, receiver }: Pick<World, 'nodes' | 'receiver'>,
  { service, endpoints, seed, paceMs = 80 }: LoadOptions,
): ChaosLoad {
  return new ChaosLoad({
    urls: nodes.map((node) => node.url),
    key: service.key,
    connectionsPerNode: 6,
    paceMs,
    next: createMix({ path: service.path, endpoints, receiver, seed }),
  });
}

function startBulk(
  { nodes }: World,
  load: ChaosLoad,
  { service, endpoints, seed, rate }: LoadOptions,
): BulkLoad | null {
  if (rate === undefined) return null;
  const urls = nodes.map((node) => node.url);
  const { key, path } = service;
  return new BulkLoad({ urls, key, path, rate, load, next: createBulkMix({ endpoints, seed }) });
}

export async function drained(database: ChaosDatabase): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const [row] = await database.query<{ open: number }>(
      'select (select count(*) from delivery_queue)::int + (select count(*) from expansions)::int as open',
    );
    const elapsedMs = performance.now() - startedAt;
    if (row?.open === 0 || elapsedMs > DRAIN_MS) return Math.round(elapsedMs);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** The last promise: nodes leave nothing behind, and none has ended by itself. */
export async function stopCleanly(
  nodes: ChaosNode[],
  database: ChaosDatabase,
  problems: Problems,
): Promise<void> {
  const broken = (text: string) => problems.add('nodes end cleanly', text);
  for (const { name, program } of nodes) {
    if (!program.isRunning) broken(`${name} has ended by itself: ${program.stderr.slice(-2000)}`);
    const { code } = await program.stop();
    if (code !== 0) broken(`${name} ended with code ${code}: ${program.stderr.slice(-2000)}`);
  }
  const programs = nodes.flatMap((node) => node.programs);
  const crashed = programs.filter(({ stderr }) => /posthorn: .*Error|unhandled|Uncaught/i.test(stderr));
  for (const { stderr } of crashed) {
    if (!LOST_DATABASE.test(stderr)) broken(`a node crashed: ${stderr.slice(-2000)}`);
  }
  const leased = await database.query(
    'select delivery_id, node_id from delivery_queue where node_id is not null',
  );
  if (leased.length > 0) broken(`${leased.length} rows are leased by nodes that are gone`);
}
