import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosDatabase } from './chaos-database.ts';
import type { ChaosNode } from './chaos-node.ts';
import type { FaultKind, PlannedFault } from './fault-schedule.ts';

/** A fault that happened: when, and to which process (null: to the database, so to everybody). */
export interface Fault {
  kind: FaultKind;
  node: string;
  pid: number | null;
  from: number;
  to: number;
}

/**
 * Does what the schedule says. A node or database that is under one fault is left alone by the others: a fault that
 * finds its victim busy takes the next free node, and is dropped if there is none.
 */
export class FaultInjector {
  readonly faults: Fault[] = [];
  readonly #deps: { database: ChaosDatabase; nodes: ChaosNode[]; started(pid: number): void };
  readonly #busy = new Set<ChaosNode | ChaosDatabase>();

  constructor(deps: { database: ChaosDatabase; nodes: ChaosNode[]; started(pid: number): void }) {
    this.#deps = deps;
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

  async inject(planned: Omit<PlannedFault, 'afterMs'>): Promise<void> {
    const { database, nodes } = this.#deps;
    const victim = planned.node === null ? database : this.#freeNode(nodes, planned.node);
    if (victim === undefined || this.#busy.has(victim)) return;
    this.#busy.add(victim);
    const fault: Fault = {
      kind: planned.kind,
      node: victim === database ? 'database' : (victim as ChaosNode).name,
      pid: victim === database ? null : (victim as ChaosNode).program.pid,
      from: Date.now(),
      to: Number.POSITIVE_INFINITY,
    };
    this.faults.push(fault);
    await this.#apply(planned, victim);
    fault.to = Date.now();
    this.#busy.delete(victim);
  }

  #freeNode(nodes: ChaosNode[], first: number): ChaosNode | undefined {
    const order = nodes.map((_, n) => nodes[(first + n) % nodes.length] as ChaosNode);
    return order.find((node) => !this.#busy.has(node));
  }

  async #apply(
    { kind, lastsMs }: Omit<PlannedFault, 'afterMs'>,
    victim: ChaosNode | ChaosDatabase,
  ): Promise<void> {
    const { database, started } = this.#deps;
    const node = victim as ChaosNode;
    switch (kind) {
      case 'kill database':
        return database.outage(lastsMs);
      case 'cut connections':
        return database.terminateConnections().catch((error: unknown) => {
          // Its own connection may go in the same moment, by another fault.
          if (!(error instanceof Error)) throw error;
        });
      case 'kill node':
        await node.program.kill();
        return node.start(started);
      case 'stop node': {
        node.program.signal('SIGTERM');
        const { code } = await node.program.ended;
        if (code !== 0)
          throw new Error(`${node.name} ended with code ${code}: ${node.program.stderr.slice(-2000)}`);
        return node.start(started);
      }
      case 'freeze node':
        node.program.signal('SIGSTOP');
        await delay(lastsMs);
        node.program.signal('SIGCONT');
    }
  }
}
