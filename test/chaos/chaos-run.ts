import type { Json } from '../support/client.ts';
import { readCredentials } from '../support/program.ts';
import { ChaosDatabase } from './chaos-database.ts';
import { ChaosLoad, type Target } from './chaos-load.ts';
import { ChaosNode } from './chaos-node.ts';
import { CHARACTERS, ChaosReceiver, type Character } from './chaos-receiver.ts';
import { type Fault, FaultInjector } from './fault-injector.ts';
import { planFaults, seeded } from './fault-schedule.ts';
import { judge, type Verdict } from './verdict.ts';

/**
 * Nodes, a database, endpoints of every character and a load; faults by a seeded schedule while it runs; then the
 * endpoints heal, the queue must drain, and the verdict is given.
 */
export interface ChaosOptions {
  seed: number;
  nodes: number;
  forMs: number;
  /** Mean time between faults. */
  pauseMs: number;
  say(line: string): void;
}

export interface ChaosReport extends Verdict {
  accepted: number;
  refused: Record<string, number>;
  slowestAnswerMs: number;
  drainedInMs: number;
  faults: Fault[];
}

/** Long enough for a takeover, an open breaker and the retries behind it. */
const DRAIN_MS = 90_000;
const RETRY = { type: 'linear', duration: '1s', retry_count: 1000 };

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, say } = options;
  const database = await ChaosDatabase.start();
  const receiver = await ChaosReceiver.start();
  const nodes: ChaosNode[] = [];
  const started = (pid: number) => receiver.senders.add(pid);
  try {
    for (let n = 0; n < options.nodes; n++) {
      nodes.push(await ChaosNode.place(`node-${n}`, database.url));
    }
    for (const node of nodes) await node.start(started);
    const service = new Service(nodes[0] as ChaosNode);
    const endpoints = await service.subscribe(receiver);
    const load = startLoad({ nodes, service, endpoints, seed });
    const injector = new FaultInjector({ database, nodes, started });
    const schedule = planFaults(options);
    for (const fault of schedule)
      say(
        `plan: ${(fault.afterMs / 1000).toFixed(1)} s ${fault.kind} ${fault.node ?? ''} ${fault.lastsMs || ''}`,
      );
    await Promise.all([injector.run(schedule), new Promise((resolve) => setTimeout(resolve, options.forMs))]);
    await load.stop();
    receiver.heal();
    const drainedInMs = await drained(database);
    const verdict = await judge(database, {
      load,
      receipts: receiver.receipts,
      faults: injector.faults,
      endpointsOf: (type) => (type === 'all' ? CHARACTERS.length : 1),
    });
    await stopCleanly(nodes, database, verdict.problems);
    return {
      ...verdict,
      accepted: load.accepted.size,
      refused: Object.fromEntries(load.refused),
      slowestAnswerMs: Math.round(load.slowestMs),
      drainedInMs,
      faults: injector.faults,
    };
  } finally {
    for (const node of nodes) await node.end();
    await receiver.stop();
    await database.stop();
  }
}

/** The API of the service, without a test around it. */
class Service {
  readonly #base: string;
  readonly key: string;
  readonly path: string;

  constructor(node: ChaosNode) {
    const credentials = readCredentials(node.dataDir);
    this.path = `/api/v1/projects/${credentials.project_id}`;
    this.#base = `${node.url}${this.path}`;
    this.key = credentials.api_key;
  }

  /** One endpoint of each character; each takes events of its own name and of type `all`. Returns their ids. */
  async subscribe(receiver: ChaosReceiver): Promise<Map<Character, string>> {
    await this.#call('PUT', '', {
      name: 'default',
      config: { circuit_breaker: { sample_rate: 2, error_timeout: 3 } },
    });
    const endpoints = new Map<Character, string>();
    for (const name of CHARACTERS) {
      const endpoint = await this.#call('POST', '/endpoints', {
        name,
        url: receiver.urlOf(name),
        http_timeout: 3,
      });
      endpoints.set(name, endpoint.uid);
      await this.#call('POST', '/subscriptions', {
        name,
        endpoint_id: endpoint.uid,
        filter_config: { event_types: [name, 'all'] },
        retry_config: RETRY,
      });
    }
    return endpoints;
  }

  async #call(method: string, path: string, body: object): Promise<Json> {
    const response = await fetch(`${this.#base}${path}`, {
      method,
      headers: { authorization: this.key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Json;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.message}`);
    return answer.data;
  }
}

function startLoad(context: {
  nodes: ChaosNode[];
  service: Service;
  endpoints: Map<Character, string>;
  seed: number;
}): ChaosLoad {
  const { service, endpoints, seed } = context;
  const random = seeded(seed + 1);
  const next = (n: number): Target => {
    const dice = random();
    const data = { n, text: 'x'.repeat(Math.floor(random() * 400)) };
    const create = (name: Character) => ({
      path: `${service.path}/events`,
      body: { endpoint_id: endpoints.get(name), event_type: name, data },
      isRepeatable: false,
    });
    const broadcast = (type: string, key?: string) => ({
      path: `${service.path}/events/broadcast`,
      body: { event_type: type, data, ...(key !== undefined && { idempotency_key: key }) },
      isRepeatable: key !== undefined,
    });
    if (dice < 0.06) return broadcast('all');
    if (dice < 0.3) return broadcast('healthy', `key-${n}`);
    if (dice < 0.4) return create('slow');
    if (dice < 0.6) return create('healthy');
    return broadcast('healthy');
  };
  return new ChaosLoad({
    urls: context.nodes.map((node) => node.url),
    key: service.key,
    connectionsPerNode: 6,
    paceMs: 80,
    next,
  });
}

async function drained(database: ChaosDatabase): Promise<number> {
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
async function stopCleanly(nodes: ChaosNode[], database: ChaosDatabase, problems: string[]): Promise<void> {
  for (const { name, program } of nodes) {
    if (!program.isRunning) problems.push(`${name} has ended by itself: ${program.stderr.slice(-2000)}`);
    program.signal('SIGTERM');
    const { code } = await program.ended;
    if (code !== 0) problems.push(`${name} ended with code ${code}: ${program.stderr.slice(-2000)}`);
  }
  const pids = nodes.flatMap(({ programs }) => programs);
  const crashed = pids.filter(({ stderr }) => /posthorn: .*Error|unhandled|Uncaught/i.test(stderr));
  for (const { stderr } of crashed) {
    if (!/database|ECONN|ENOENT/i.test(stderr)) problems.push(`a node crashed: ${stderr.slice(-2000)}`);
  }
  const held = await database.query(
    'select delivery_id, node_id from delivery_queue where node_id is not null',
  );
  if (held.length > 0) problems.push(`${held.length} rows are held by nodes that are gone`);
}
