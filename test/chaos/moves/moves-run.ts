import { setTimeout as delay } from 'node:timers/promises';
import type { MoveStep } from '../../../src/cells/move/mover.ts';
import type { ChaosNode } from '../chaos-node.ts';
import { drained, startLoad, stopCleanly } from '../chaos-run.ts';
import type { Character } from '../characters.ts';
import type { Strictness } from '../judges/judge-limits.ts';
import type { Problem } from '../judges/problems.ts';
import { judge, type Verdict } from '../judges/verdict.ts';
import { Service } from '../service.ts';
import { readStored } from '../stored.ts';
import { untilSignal } from '../until-signal.ts';
import { closedForMs, judgeLists, listEvents } from './judge-lists.ts';
import { type Moved, Moving, type PlannedKill, VICTIMS } from './moving.ts';
import { type CellName, startThreeCells, type ThreeCells } from './three-cells.ts';

/**
 * A project moves back and forth between two cells under the load of a chaos run, with its endpoints of every character.
 * In each move one part is killed after one step: the home, a node, the source, the target or the mover.
 */
export interface MovesOptions {
  nodes: number;
  seed: number;
  kills: readonly PlannedKill[];
  /** The run goes on without kills until so many moves have arrived. */
  arrivals: number;
  strictness: Strictness;
  say(line: string): void;
}

export interface MovesReport extends Omit<Verdict, 'problems'> {
  problems: Problem[];
  accepted: number;
  refused: Record<string, number>;
  moves: (Moved & { closedForMs: number | null })[];
}

/** A move copies the history, so the load of all moves together is kept small. */
const PACE_MS = 300;

const STEPS: readonly MoveStep[] = [
  'begun',
  'copied',
  'draining',
  'drained',
  'closed',
  'written',
  'switched',
  'ended',
];

export const ALL_KILLS: readonly PlannedKill[] = STEPS.flatMap((step) =>
  VICTIMS.map((victim) => ({ step, victim })),
);

export async function runMoves(options: MovesOptions): Promise<MovesReport> {
  const world = await startThreeCells(options.nodes);
  const moving = new Moving(world);
  try {
    return await untilSignal(runIn(world, moving, options));
  } finally {
    await moving.stop();
    await world.stop();
  }
}

async function runIn(world: ThreeCells, moving: Moving, options: MovesOptions): Promise<MovesReport> {
  const { receiver, nodes, project } = world;
  const [first] = nodes as [ChaosNode];
  const service = new Service(first.url, project);
  const endpoints = await service.subscribe(receiver);
  const characters = new Map([...endpoints].map(([name, id]) => [id, name]));
  const load = startLoad(world, { service, endpoints, seed: options.seed, paceMs: PACE_MS });
  const moves = await moveThrough(moving, options);
  await load.stop();
  receiver.heal();
  const [cell] = (await moving.openIn()) as [CellName];
  const database = world.cells[cell];
  await drained(database);
  const { receipts, tokenWaits } = await receiver.finish();
  const { problems, ...verdict } = judge(await readStored(database), {
    load,
    receipts,
    faults: moving.faults,
    tokenWaits,
    characterOf: (id) => characters.get(id) as Character,
    strictness: options.strictness,
  });
  judgeLists(await listEvents(`${first.url}${service.path}`, service.key), { load, moves }, problems);
  for (const { kill, error } of moves.filter(isStoppedInVain))
    problems.add(
      'a project is open in one cell',
      `a move stopped though ${kill?.victim} was killed: ${error}`,
    );
  await stopCleanly(nodes, database, problems);
  return {
    ...verdict,
    problems: problems.list,
    accepted: load.accepted.size,
    refused: Object.fromEntries(load.refused),
    moves: moves.map((moved) => ({ ...moved, closedForMs: closedForMs({ load, moved }) })),
  };
}

async function moveThrough(
  moving: Moving,
  { kills, arrivals, say }: Pick<MovesOptions, 'kills' | 'arrivals' | 'say'>,
): Promise<Moved[]> {
  const moves: Moved[] = [];
  const arrived = () => moves.filter(({ isArrived }) => isArrived).length;
  for (let n = 0; n < kills.length || arrived() < arrivals; n += 1) {
    // Some load before each.
    await delay(1_000);
    const [from] = (await moving.openIn()) as [CellName];
    const startedAt = performance.now();
    const moved = await moving.move(from, kills[n] ?? null);
    moves.push(moved);
    const { kill, isArrived, closedMs, error } = moved;
    say(
      `${n + 1}: from ${from}, ${kill === null ? 'no kill' : `${kill.victim} killed when ${kill.step}`}: ${
        isArrived ? 'arrived' : 'stayed'
      } after ${((performance.now() - startedAt) / 1000).toFixed(1)} s, closed ${Math.round(closedMs)} ms ${error ?? ''}`,
    );
  }
  return moves;
}

/** A move does not need the home, nor a single node. */
const isStoppedInVain = ({ kill, isArrived }: Moved): boolean =>
  !isArrived && (kill === null || kill.victim === 'home' || kill.victim === 'node');
