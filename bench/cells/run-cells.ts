import { writeFile } from 'node:fs/promises';
import { PLANS, type Sample } from '../figure.ts';
import { Stage } from '../stage.ts';
import { cellAway } from './away.ts';
import { type CostPlan, costAtRest, costPerEvent } from './cost.ts';

/**
 * Several cells against one: the cost of an event and of a second at rest, and the effect of a cell that is away. Run by
 * `npm run bench -- cells`; results are in docs/scaling.md.
 */
export interface CellsOptions {
  smoke: boolean;
  only?: string;
  json?: string;
}

type Step = (stage: Stage, options: CellsOptions) => Promise<Sample>;

const costPlan = ({ smoke }: CellsOptions): CostPlan =>
  smoke
    ? { events: 200, connections: 8, idleSeconds: 2 }
    : { events: 20_000, connections: 64, idleSeconds: 30 };
const awaySeconds = ({ smoke }: CellsOptions): number => (smoke ? 2 : 60);

const cost =
  (cells: 1 | 2, servers: 1 | 2): Step =>
  (stage, options) =>
    costPerEvent(stage, { cells, servers }, costPlan(options));
const rest =
  (cells: number): Step =>
  (stage, options) =>
    costAtRest(stage, cells, costPlan(options));

const STEPS: Record<string, Step> = {
  'event, 1 cell': cost(1, 1),
  'event, 2 cells of 1 server': cost(2, 1),
  'event, 2 cells of 2 servers': cost(2, 2),
  'rest, 1 cell': rest(1),
  'rest, 2 cells': rest(2),
  'rest, 4 cells': rest(4),
  'away, a cell': (stage, options) => cellAway(stage, { seconds: awaySeconds(options), cell: 'other' }),
  'away, the home': (stage, options) => cellAway(stage, { seconds: awaySeconds(options), cell: 'home' }),
};

export async function runCells(options: CellsOptions): Promise<void> {
  const wanted = options.only?.split(',');
  const stage = await Stage.start(options.smoke ? PLANS.smoke : PLANS.default);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stage.stop().finally(() => process.exit(1)));
  const figures: Record<string, Sample> = {};
  try {
    for (const [name, step] of Object.entries(STEPS)) {
      if (wanted?.some((start) => name.startsWith(start)) === false) continue;
      process.stderr.write(`${name}\n`);
      figures[name] = await step(stage, options);
      console.log(name, figures[name]);
    }
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  } finally {
    await stage.stop();
  }
}
