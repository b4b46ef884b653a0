import { setTimeout as delay } from 'node:timers/promises';
import { Chain } from '../../brokers/destinations/chain.ts';
import { readCredentials } from '../../support/program.ts';
import { ChaosDatabase } from '../chaos-database.ts';
import { ChaosNode } from '../chaos-node.ts';
import { seeded } from '../fault-schedule.ts';
import { untilSignal } from '../until-signal.ts';

/**
 * Messages of a Kafka go through a filter and a function to a RabbitMQ, and events of the API too, while nodes, the
 * database and both brokers are killed by a seeded schedule. At the end every message that Kafka has confirmed and every
 * event that was answered 201 must have arrived, each at least once.
 */
export interface BrokersOptions {
  seed: number;
  nodes: number;
  forMs: number;
  pauseMs: number;
  say(line: string): void;
}

export interface BrokersReport {
  published: number;
  accepted: number;
  arrived: number;
  repeats: number;
  faults: Record<string, number>;
  problems: string[];
}

const FAULTS = ['kill source broker', 'kill endpoint broker', 'kill node', 'freeze node', 'kill database'];
/** Numbers of events of the API begin here. */
const API_FROM = 1_000_000;
const CHUNK = 30;
const FREEZE_MS = 12_000;
/** Nothing new for so long: what is missing then is lost. */
const SILENCE_MS = 120_000;
const RETRY = { type: 'linear', duration: 1, retry_count: 1_000 };
/** An open breaker would hold back what the run waits for. */
const BREAKER = { failure_threshold: 100, minimum_request_count: 100_000 };

interface World {
  chain: Chain;
  database: ChaosDatabase;
  nodes: ChaosNode[];
}

export async function runBrokers(options: BrokersOptions): Promise<BrokersReport> {
  const chain = await Chain.start();
  const database = await ChaosDatabase.start();
  const nodes: ChaosNode[] = [];
  try {
    for (let n = 0; n < options.nodes; n++) nodes.push(await ChaosNode.place(`node-${n}`, database.url));
    for (const node of nodes) await node.start();
    return await untilSignal(runIn({ chain, database, nodes }, options));
  } finally {
    for (const node of nodes) await node.end();
    await database.stop();
    await chain.stop();
  }
}

async function runIn(world: World, options: BrokersOptions): Promise<BrokersReport> {
  const { chain, nodes } = world;
  const clients = clientsOf(nodes);
  const [first] = clients as [Call];
  await first('PUT', '', { name: 'default', config: { strategy: RETRY, circuit_breaker: BREAKER } });
  await first('POST', '/endpoints', chain.endpoint);
  await first('POST', '/sources', chain.source);
  const load = new Load(chain, clients);
  const faults = await injectFaults(world, options);
  await load.stop();
  const wanted = [...chain.wanted(load.published), ...load.accepted];
  const arrived = await allArrived(chain, wanted);
  const missing = wanted.filter((n) => !arrived.distinct.has(n));
  const strange = [...arrived.distinct].filter((n) => n < 0 || (n >= load.published && n < API_FROM));
  const problems = [
    ...(missing.length > 0 ? [`${missing.length} are lost, the first is ${missing[0]}`] : []),
    ...(strange.length > 0 ? [`${strange.length} arrived that were filtered out or not published`] : []),
  ];
  return {
    published: load.published,
    accepted: load.accepted.length,
    arrived: arrived.distinct.size,
    repeats: arrived.all - arrived.distinct.size,
    faults,
    problems,
  };
}

type Call = (method: 'POST' | 'PUT', path: string, body: object) => Promise<void>;

/** A call of the API of each node. */
function clientsOf(nodes: ChaosNode[]): Call[] {
  const { project_id, api_key } = readCredentials((nodes[0] as ChaosNode).dataDir);
  return nodes.map(({ url }) => async (method, path, body) => {
    const request = {
      method,
      headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    };
    const response = await fetch(`${url}/api/v1/projects/${project_id}${path}`, request);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  });
}

/** One fault after the other. Each kind comes once in a round. */
async function injectFaults(world: World, options: BrokersOptions): Promise<Record<string, number>> {
  const random = seeded(options.seed);
  const counts: Record<string, number> = {};
  let bag: string[] = [];
  for (const endMs = performance.now() + options.forMs; performance.now() < endMs; ) {
    await delay(options.pauseMs * (0.5 + random()));
    if (bag.length === 0) bag = [...FAULTS];
    const [kind = ''] = bag.splice(Math.floor(random() * bag.length), 1);
    options.say(`fault: ${kind}`);
    counts[kind] = (counts[kind] ?? 0) + 1;
    await inject(world, kind, random);
  }
  return counts;
}

async function inject({ chain, database, nodes }: World, kind: string, random: () => number): Promise<void> {
  const node = nodes[Math.floor(random() * nodes.length)] as ChaosNode;
  const broker = kind === 'kill source broker' ? chain.from : chain.to;
  switch (kind) {
    case 'kill node':
      await node.program.kill();
      return node.start();
    case 'freeze node':
      node.program.signal('SIGSTOP');
      await delay(FREEZE_MS);
      node.program.signal('SIGCONT');
      return;
    case 'kill database':
      return database.outage(random() * 4_000);
    default:
      await broker.kill();
      await delay(random() * 3_000);
      return broker.resume();
  }
}

/** Publishes to Kafka and sends to the nodes until it is stopped. */
class Load {
  /** All numbers below are in Kafka. */
  published = 0;
  /** Numbers of events that were answered 201. */
  readonly accepted: number[] = [];
  readonly #chain: Chain;
  readonly #done: Promise<unknown>;
  #isStopped = false;

  constructor(chain: Chain, clients: Call[]) {
    this.#chain = chain;
    this.#done = Promise.all([this.#publish(), this.#send(clients)]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  /** Messages that Kafka did not confirm are published again, so it may have them twice. */
  async #publish(): Promise<void> {
    while (!this.#isStopped) {
      const isPublished = await this.#chain.publish(this.published, this.published + CHUNK).then(
        () => true,
        () => false,
      );
      if (isPublished) this.published += CHUNK;
      await delay(100);
    }
  }

  async #send(clients: Call[]): Promise<void> {
    for (let n = API_FROM; !this.#isStopped; n++) {
      const client = clients[n % clients.length] as Call;
      await client('POST', '/events/broadcast', { event_type: 'api', data: { n } }).then(
        () => this.accepted.push(n),
        () => undefined,
      );
      await delay(20);
    }
  }
}

async function allArrived(
  chain: Chain,
  wanted: readonly number[],
): Promise<{ all: number; distinct: ReadonlySet<number> }> {
  let [most, grewMs] = [0, performance.now()];
  for (; ; await delay(500)) {
    const numbers = await chain.numbers();
    const distinct = new Set(numbers);
    if (distinct.size > most) [most, grewMs] = [distinct.size, performance.now()];
    const isOver = performance.now() - grewMs > SILENCE_MS;
    if (isOver || wanted.every((n) => distinct.has(n))) return { all: numbers.length, distinct };
  }
}
