import { STRICT } from '../judges/judge-limits.ts';
import { ALL_KILLS, type MovesReport, runMoves } from './moves-run.ts';

/** Runs moves with every kill, prints the figures, and returns the exit code. */
export async function reportMoves(wanted: {
  arrivals: number;
  nodes: number;
  seed: number;
}): Promise<number> {
  const report = await runMoves({
    ...wanted,
    kills: ALL_KILLS,
    strictness: STRICT,
    say: (line) => console.log(line),
  });
  const { problems, duplicates, limits, moves, ...figures } = report;
  for (const { deliveryId, faults } of duplicates)
    console.log(`duplicate: ${deliveryId} explained by ${faults.join(', ') || 'nothing'}`);
  console.log({ ...figures, duplicates: duplicates.length, ...closedTimes(moves) });
  for (const { character, most, limit } of limits)
    console.log(`limit: ${character} at most ${most} where ${limit} are allowed`);
  for (const { promise, text } of problems) console.log(`PROBLEM: ${promise}: ${text}`);
  return problems.length === 0 ? 0 : 1;
}

function closedTimes(moves: MovesReport['moves']) {
  const of = (some: MovesReport['moves']) => {
    const times = some.flatMap(({ closedForMs }) => closedForMs ?? []).toSorted((a, b) => a - b);
    return { count: times.length, p50Ms: times[Math.floor(times.length / 2)], worstMs: times.at(-1) };
  };
  const isCalm = ({ kill, isArrived }: MovesReport['moves'][number]) =>
    isArrived && (kill === null || kill.victim === 'home');
  return {
    moves: moves.length,
    arrived: moves.filter(({ isArrived }) => isArrived).length,
    closed: of(moves),
    closedWithoutKillOfNodeOrCell: of(moves.filter(isCalm)),
  };
}
