import { idTime } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import { partitionBounds } from './partitions.ts';

/** The facts of the database that `posthorn doctor` checks. */
export interface HealthFacts {
  serverVersion: string;
  serverVersionNumber: number;
  /** The time of the database in milliseconds. */
  nowMs: number;
  bytes: number;
  connections: number;
  maxConnections: number;
  /** Names of the migrations that were applied. */
  migrations: string[];
  /** The end of the newest partition of each hot table in milliseconds. */
  partitionEnds: Map<string, number>;
  /** Sources of brokers that do not take messages. */
  waitingSources: { source_id: string; reason: string }[];
}

export async function healthFacts(db: Queryable): Promise<HealthFacts> {
  const [server] = await db.query<Omit<HealthFacts, 'migrations' | 'partitionEnds' | 'waitingSources'>>(
    `select current_setting('server_version') as "serverVersion",
       current_setting('server_version_num')::int as "serverVersionNumber",
       (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
       pg_database_size(current_database())::float8 as bytes,
       (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
       current_setting('max_connections')::int as "maxConnections"`,
  );
  const migrations = await db.query<{ name: string }>('select name from schema_migrations order by name');
  const waitingSources = await db.query<{ source_id: string; reason: string }>(
    `select distinct source_id, reason from broker_status where state = 'waiting' order by source_id`,
  );
  const partitionEnds = new Map<string, number>();
  for (const { table, to } of await partitionBounds(db))
    partitionEnds.set(table, Math.max(partitionEnds.get(table) ?? 0, idTime(to)));
  return {
    ...(server as NonNullable<typeof server>),
    migrations: migrations.map(({ name }) => name),
    partitionEnds,
    waitingSources,
  };
}
