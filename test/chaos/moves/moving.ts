import { setTimeout as delay } from 'node:timers/promises';
import { moveProject, runMove, startMove } from '../../../src/cells/move/move-project.ts';
import type { MoveStep } from '../../../src/cells/move/mover.ts';
import { Database } from '../../../src/store/database/database.ts';
import { quietLog } from '../../support/quiet-log.ts';
import type { ChaosDatabase } from '../chaos-database.ts';
import type { ChaosNode } from '../chaos-node.ts';
import type { Fault } from '../fault-injector.ts';
import { CELL_IDS, type CellName, type ThreeCells } from './three-cells.ts';

/** A kill after a step of the move. The mover goes on at once, and meets the rest. */
export interface PlannedKill {
  step: MoveStep;
  victim: Victim;
}

export const VICTIMS = ['home', 'node', 'source', 'target', 'mover'] as const;
export type Victim = (typeof VICTIMS)[number];

export interface Moved {
  kill: PlannedKill | null;
  isArrived: boolean;
  /** When the project had closed. Null: it did not get so far. */
  closedAt: number | null;
  /** When it was switched, as the mover knows it. */
  switchedAt: number | null;
  /** By the mover. Zero: another process ended the move. */
  closedMs: number;
  /** Why the mover gave up. */
  error: string | null;
}

class Killed extends Error {}

/** A server that was killed stays away for so long. */
const DOWN_MS = 1_500;
/** The lease of a mover, and the turns of the nodes that settle its move. */
const SETTLED_MS = 60_000;

/** Moves the project back and forth, each time with a kill. */
export class Moving {
  readonly faults: Fault[] = [];
  readonly #world: ThreeCells;
  readonly #pools: Record<CellName, Database>;
  #kills = 0;

  constructor(world: ThreeCells) {
    this.#world = world;
    const open = (database: ChaosDatabase) =>
      new Database({ connection: { connectionString: database.url }, connections: 6, log: quietLog });
    this.#pools = { a: open(world.cells.a), b: open(world.cells.b) };
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }

  /** Ends when all that was killed works again, and the project is open. */
  async move(from: CellName, kill: PlannedKill | null): Promise<Moved> {
    const to = from === 'a' ? 'b' : 'a';
    const moved: Moved = {
      kill,
      isArrived: false,
      closedAt: null,
      switchedAt: null,
      closedMs: 0,
      error: null,
    };
    const killing: Promise<void>[] = [];
    const onStep = async (step: MoveStep) => {
      if (step === 'closed') moved.closedAt = Date.now();
      if (step === 'switched') moved.switchedAt = Date.now();
      if (step !== kill?.step) return;
      if (kill.victim === 'mover') throw new Killed('the mover was killed');
      killing.push(this.#kill(kill.victim, { from, to, isOpenIn: moved.switchedAt === null ? from : to }));
      // The victim is dead before the mover takes its next step.
      await delay(100);
    };
    const deps = { source: this.#pools[from], target: this.#pools[to], owner: 'chaos', onStep };
    const wanted = {
      projectId: this.#world.project.projectId,
      fromCell: CELL_IDS[from],
      toCell: CELL_IDS[to],
    };
    try {
      const result =
        kill?.victim === 'mover'
          ? await runMove(deps, await startMove(deps, wanted))
          : await moveProject(deps, wanted);
      moved.closedMs = result.closedMs;
    } catch (error) {
      moved.error = (error as Error).message;
    }
    await Promise.all(killing);
    moved.isArrived = (await this.#settled()) === to;
    return moved;
  }

  /** The cells in which the project is open. */
  async openIn(): Promise<CellName[]> {
    const names: CellName[] = ['a', 'b'];
    const found = await Promise.all(
      names.map((name) =>
        this.#world.cells[name].query(
          'select 1 from projects where id = $1 and deleted_at is null and cell_state is null',
          [this.#world.project.projectId],
        ),
      ),
    );
    return names.filter((_, n) => (found[n]?.length ?? 0) > 0);
  }

  async #settled(): Promise<CellName> {
    const startedAt = performance.now();
    for (;;) {
      const [cell, ...others] = await this.openIn();
      if (cell !== undefined && others.length === 0 && (await this.#hasNoMove())) return cell;
      if (others.length > 0) throw new Error('the project is open in both cells');
      if (performance.now() - startedAt > SETTLED_MS) throw new Error('the move was not settled in a minute');
      await delay(200);
    }
  }

  async #hasNoMove(): Promise<boolean> {
    const open = await Promise.all(
      Object.values(this.#world.cells).map((database) =>
        database.query(
          "select 1 from project_moves where state in ('copying', 'draining', 'closed') and owner is not null",
        ),
      ),
    );
    return open.every((rows) => rows.length === 0);
  }

  async #kill(
    victim: Exclude<Victim, 'mover'>,
    { from, to, isOpenIn }: Record<'from' | 'to' | 'isOpenIn', CellName>,
  ): Promise<void> {
    const { home, cells, nodes } = this.#world;
    if (victim === 'node') return this.#killNode(nodes[this.#kills++ % nodes.length] as ChaosNode);
    const cell = victim === 'source' ? from : to;
    const begun = Date.now();
    const outage = (victim === 'home' ? home : cells[cell]).outage(DOWN_MS);
    // Only the database that has the project can keep an outcome from being recorded. Its faults explain repeats.
    const isHeld = victim !== 'home' && cell === isOpenIn;
    const fault: Fault = {
      kind: isHeld ? 'kill database' : 'calm',
      node: victim === 'home' ? 'home' : cell,
      pid: null,
      from: begun,
      to: Number.POSITIVE_INFINITY,
      delayMs: 0,
    };
    if (isHeld) this.faults.push(fault);
    await outage;
    fault.to = Date.now();
  }

  async #killNode(node: ChaosNode): Promise<void> {
    const { pid } = node.program;
    const fault: Fault = {
      kind: 'kill node',
      node: node.name,
      pid,
      from: Date.now(),
      to: Number.POSITIVE_INFINITY,
      delayMs: 0,
    };
    this.faults.push(fault);
    await node.program.kill();
    await node.start(this.#world.started);
    fault.to = Date.now();
  }
}
