import { setTimeout as pause } from 'node:timers/promises';
import { firstIdAt } from '../../src/domain/ids.ts';
import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/** A start on an empty database, without statistics and compiled code, compared with the time right after. */
export const firstMinute: Figure = {
  name: 'first_minute',
  rounds: () => 1,
  isLong: true,
  run: (stage) =>
    withService(stage, async (service) => {
      const seconds = stage.plan.firstSeconds;
      const first = await closedLoop(stage, service, seconds);
      const steady = await closedLoop(stage, service, seconds);
      return { seconds, eventsPerSecond: first, steady, ratio: steady / first };
    }),
};

/** Throughput when rows begin to go into new, empty partitions while the service runs. */
export const partitionChange: Figure = {
  name: 'partition_change',
  rounds: ({ rounds }) => Math.ceil(rounds / 2),
  run: (stage) =>
    withService(stage, async (service) => {
      await warmUp(stage, subjectOf(service), LOAD_EVENT);
      await service.db.query('truncate events, event_deliveries, delivery_attempts');
      const seconds = stage.plan.changeSeconds;
      const changeAt = Date.now() + (seconds + 3) * 1000;
      await splitPartitions(service, firstIdAt(changeAt));
      const steady = await closedLoop(stage, service, seconds);
      await pause(Math.max(0, changeAt - Date.now()));
      const after = await closedLoop(stage, service, seconds);
      return { seconds, eventsPerSecond: after, steady, ratio: steady / after };
    }),
};

async function withService<T>(stage: Stage, work: (service: Service) => Promise<T>): Promise<T> {
  const service = await stage.startService();
  try {
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    return await work(service);
  } finally {
    await service.stop();
  }
}

async function closedLoop(stage: Stage, service: Service, seconds: number): Promise<number> {
  const sample = await measureDeliveries(stage, subjectOf(service), {
    eventType: LOAD_EVENT,
    seconds,
    connections: stage.plan.connections,
  });
  return sample['eventsPerSecond'] as number;
}

interface Partition {
  parent: string;
  name: string;
  from: string;
  to: string;
  storage: string;
}

/** Splits the current partition of each hot table, which is empty, in two at a future id. */
async function splitPartitions(service: Service, at: string): Promise<void> {
  const { rows } = await service.db.query<Partition>(
    `select i.inhparent::regclass::text as parent, c.relname as name,
       (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$FROM \\('([^']+)'\\)$$))[1] as from,
       (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$TO \\('([^']+)'\\)$$))[1] as to,
       array_to_string(c.reloptions, ', ') as storage
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where c.relkind = 'r' and c.relname ~ '^(events|event_deliveries|delivery_attempts)_'`,
  );
  for (const { parent, name, from, to, storage } of rows.filter((row) => row.from < at && at < row.to)) {
    await service.db.query(`alter table ${parent} detach partition ${name}`);
    await service.db.query(
      `alter table ${parent} attach partition ${name} for values from ('${from}') to ('${at}')`,
    );
    await service.db.query(`create table ${name}_next (like ${parent} including all) with (${storage})`);
    await service.db.query(
      `alter table ${parent} attach partition ${name}_next for values from ('${at}') to ('${to}')`,
    );
  }
}
