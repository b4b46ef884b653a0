import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosDatabase } from './chaos-database.ts';
import type { ChaosNode } from './chaos-node.ts';
import type { DatabaseRelays } from './database-relays.ts';
import type { FaultKind, PlannedFault } from './fault-schedule.ts';
import type { ReceiverProcess } from './receiver/receiver-process.ts';

/** A fault that happened: when, and to which process (null: not to a single process). */
export interface Fault {
  kind: FaultKind;
  node: string;
  pid: number | null;
  from: number;
  to: number;
  delayMs: number;
}

export interface Victims {
  database: ChaosDatabase;
  nodes: ChaosNode[];
  relays: DatabaseRelays;
  /** It issues the tokens too. */
  receiver: ReceiverProcess;
  started(pid: number): void;
}

const NODE_FAULTS: readonly FaultKind[] = [
  'kill node',
  'stop node',
  'freeze node',
  'stall node',
  'pause node',
];

/**
 * Runs the schedule. A victim (a node, the database, the relays, the token server) has one fault at a time: a
 * fault of a node takes the next free node, and a fault without a free victim is dropped. The relays are not
 * part of their node, so a node can be killed while the database is slow for it.
 */
export class FaultInjector {
  readonly faults: Fault[] = [];
  readonly #victims: Victims;
  readonly #busy = new Set<object>();

  constructor(victims: Victims) {
    this.#victims = victims;
  }

  /** Resolves when the last fault is over and everything runs again. */
  async run(schedule: PlannedFault[]): Promise<void> {
    const startedAt = Date.now();
    await Promise.all(
      schedule.map(async (planned) => {
        await delay(Math.max(0, startedAt + planned.afterMs - Date.now()));
        await this.inject(planned);
      }),
    );
  }

  async inject(planned: PlannedFault): Promise<void> {
    const victim = this.#victimOf(planned);
    if (victim === undefined || this.#busy.has(victim)) return;
    this.#busy.add(victim);
    const node = this.#victims.nodes.find((one) => one === victim);
    const fault: Fault = {
      kind: planned.kind,
      node: node?.name ?? (planned.node === null ? 'all' : `node-${planned.node}`),
      pid: node?.program.pid ?? null,
      from: Date.now(),
      to: Number.POSITIVE_INFINITY,
      delayMs: planned.delayMs,
    };
    this.faults.push(fault);
    await this.#apply(planned, victim);
    fault.to = Date.now();
    this.#busy.delete(victim);
  }

  #victimOf({ kind, node }: PlannedFault): object | undefined {
    const { nodes, database, relays, receiver } = this.#victims;
    if (NODE_FAULTS.includes(kind)) {
      const order = nodes.map((_, n) => nodes[((node ?? 0) + n) % nodes.length] as ChaosNode);
      return order.find((one) => !this.#busy.has(one));
    }
    if (kind === 'slow tokens') return receiver;
    return kind === 'delay database' || kind === 'calm' ? relays : database;
  }

  async #apply(planned: PlannedFault, victim: object): Promise<void> {
    const { database, receiver, started } = this.#victims;
    const { kind, lastsMs, delayMs } = planned;
    const node = victim as ChaosNode;
    switch (kind) {
      case 'kill database':
        return database.outage(lastsMs);
      case 'cut connections':
        return database.terminateConnections().catch((error: unknown) => {
          // Another fault may cut its own connection at the same moment.
          if (!(error instanceof Error)) throw error;
        });
      case 'kill node':
        await node.program.kill();
        return node.start(started);
      case 'stop node': {
        const { code } = await node.program.stop();
        if (code !== 0)
          throw new Error(`${node.name} ended with code ${code}: ${node.program.stderr.slice(-2000)}`);
        return node.start(started);
      }
      case 'freeze node':
      case 'stall node':
      case 'pause node':
        node.program.signal('SIGSTOP');
        await delay(lastsMs);
        node.program.signal('SIGCONT');
        return;
      case 'delay database':
      case 'calm':
        return this.#delayAnswers(planned);
      case 'slow tokens':
        receiver.slowTokens(delayMs);
        await delay(lastsMs);
        receiver.slowTokens(0);
    }
  }

  async #delayAnswers({ node, lastsMs, delayMs }: PlannedFault): Promise<void> {
    const { nodes, relays } = this.#victims;
    const late = node === null ? [...nodes.keys()] : [node];
    for (const n of late) relays.delay(n, delayMs);
    await delay(lastsMs);
    for (const n of late) relays.delay(n, 0);
  }
}
