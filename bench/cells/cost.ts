import { setTimeout as pause } from 'node:timers/promises';
import { usageOf } from '../cost/process-usage.ts';
import type { Sample } from '../figure.ts';
import type { LoadResult } from '../load-generator.ts';
import { arrived } from '../measure.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT } from '../subjects.ts';
import { type SeveralCells, startCells } from './several-cells.ts';

/** The cost of an event, and of a second without any, by cells and servers. Counted, so that a busy machine changes little. */
export interface CostPlan {
  events: number;
  connections: number;
  idleSeconds: number;
}

/** The projects are two in every step, so that batches differ by the cells alone. */
export async function costPerEvent(
  stage: Stage,
  { cells, servers }: { cells: 1 | 2; servers: 1 | 2 },
  plan: CostPlan,
): Promise<Sample> {
  const several = await startCells(stage, { cells, servers, tenants: 2 / cells });
  try {
    for (const tenant of several.tenants) await tenant.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await publish(stage, several, plan);
    return await counted(several, plan.events, () => publish(stage, several, plan));
  } finally {
    await several.stop();
  }
}

/** Starts and first compilations are over by then. */
const SETTLE_MS = 20_000;

export async function costAtRest(stage: Stage, cells: number, { idleSeconds }: CostPlan): Promise<Sample> {
  const several = await startCells(stage, { cells, servers: 1 });
  try {
    await pause(SETTLE_MS);
    const sample = await counted(several, idleSeconds, () => pause(idleSeconds * 1_000));
    return {
      statementsPerSecond: sample['statements'] as number,
      coresService: (sample['microsService'] as number) / 1e6,
      coresDatabase: (sample['microsDatabase'] as number) / 1e6,
    };
  } finally {
    await several.stop();
  }
}

async function publish(stage: Stage, { tenants, databases }: SeveralCells, plan: CostPlan): Promise<void> {
  const run = await stage.newRun();
  const results = await Promise.all(
    tenants.map(({ broadcastUrl: url, authorization }) =>
      stage.load.call<LoadResult>('run', {
        url,
        authorization,
        run,
        eventType: LOAD_EVENT,
        connections: plan.connections / tenants.length,
        count: plan.events / tenants.length,
      }),
    ),
  );
  const refused = results.find((result) => result.refused > 0);
  if (refused !== undefined) throw new Error(`events were refused; the first: ${refused.refusal}`);
  await arrived(stage, (sink) => sink.received >= plan.events);
  for (const db of databases)
    for (let isIdle = false; !isIdle; await pause(20)) {
      const { rows } = await db.query('select not exists (select from delivery_queue) as idle');
      isIdle = (rows[0] as { idle: boolean }).idle;
    }
}

/** Statements and microseconds of the work, divided by `by`. */
async function counted(several: SeveralCells, by: number, work: () => Promise<void>): Promise<Sample> {
  for (const db of several.databases) await db.query('select pg_stat_statements_reset()');
  const before = cpu(several);
  await work();
  const after = cpu(several);
  return {
    statements: (await statements(several)) / by,
    microsService: ((after.service - before.service) * 1e6) / by,
    microsDatabase: ((after.database - before.database) * 1e6) / by,
  };
}

function cpu({ service, servers }: SeveralCells) {
  const of = (pid: number) => usageOf(pid)?.cpuSeconds ?? Number.NaN;
  return {
    service: of(service.pid),
    database: servers.reduce((sum, { pid }) => sum + of(pid), 0),
  };
}

/** Without those of the bench. */
async function statements({ databases }: SeveralCells): Promise<number> {
  let sum = 0;
  for (const db of databases) {
    const { rows } = await db.query<{ calls: number }>(
      `select coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements
       where dbid = (select oid from pg_database where datname = current_database())
         and query !~ 'pg_stat_statements|select not exists'`,
    );
    sum += rows[0]?.calls ?? 0;
  }
  return sum;
}
