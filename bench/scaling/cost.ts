import { setTimeout as pause } from 'node:timers/promises';
import { usageOf } from '../cost/process-usage.ts';
import type { Sample } from '../figure.ts';
import type { Load, LoadResult } from '../load-generator.ts';
import { arrived } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';

/**
 * The database's work for a number of events, counted by the database itself. pg_stat_statements counts round
 * trips, buffers and WAL by statement, at once. The table statistics count row versions, up to ten seconds
 * late, so they are awaited. Statements that depend on time and not on events (heartbeats, polls, sweeps) are
 * counted separately.
 */
export const STATISTICS_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_utility': 'off',
  // A page's first change after a checkpoint writes the whole page. That would add chance to the WAL per
  // event.
  full_page_writes: 'off',
  autovacuum: 'off',
};

export interface Work {
  load: Omit<Load, 'url' | 'authorization' | 'run'> & { count: number };
  /** Attempts of each delivery. */
  attempts: number;
  nodes: number;
}

const STATEMENTS = {
  accept: /insert into event_deliveries/,
  finish: /insert into delivery_attempts/,
  claim: /from delivery_queue[^]*skip locked/,
};
const LOOK_MS = 20;
const STATISTICS_MS = 20_000;

export async function costOf(stage: Stage, service: Service, work: Work): Promise<Sample> {
  const { load, attempts, nodes } = work;
  const events = load.count;
  await service.db.query('select pg_stat_statements_reset()');
  const before = await rowVersions(service);
  const cpu = cpuOf(stage, service);
  const startedMs = performance.now();
  const watch = watchLocks(service);
  const run = await stage.newRun();
  const { broadcastUrl: url, authorization } = service;
  const result = await stage.load.call<LoadResult>('run', {
    ...load,
    url,
    authorization,
    run,
  } satisfies Load);
  if (result.refused > 0) throw new Error(`${result.refused} requests refused; the first: ${result.refusal}`);
  const report = await arrived(stage, (sink) => sink.received >= events * attempts);
  while (!(await service.isIdle())) await pause(LOOK_MS);
  const cpuAfter = cpuOf(stage, service);
  const locks = await watch.stop();
  const seconds = (performance.now() - startedMs) / 1000;
  const statements = await statementCosts(service, events);
  const after = await settled(service, before, { events, attempts });
  const per = (name: keyof RowVersions) => (after[name] - before[name]) / events;
  return {
    events,
    lost: events - report.distinct,
    ...statements,
    otherPerNodeSecond: (statements['otherCalls'] as number) / nodes / seconds,
    rowVersions: per('inserted') + per('updated') + per('deleted'),
    rowsInserted: per('inserted'),
    rowsUpdated: per('updated'),
    rowsDeleted: per('deleted'),
    hotShare:
      (after.deliveriesHot - before.deliveriesHot) / (after.deliveriesUpdated - before.deliveriesUpdated),
    ...locks,
    microsService: ((cpuAfter.service - cpu.service) * 1e6) / events,
    microsDatabase: ((cpuAfter.database - cpu.database) * 1e6) / events,
  };
}

const cpuOf = (stage: Stage, service: Service) => ({
  service: usageOf(service.pid)?.cpuSeconds ?? Number.NaN,
  database: usageOf(stage.postgresPid)?.cpuSeconds ?? Number.NaN,
});

async function statementCosts(service: Service, events: number): Promise<Sample> {
  const { rows } = await service.db.query<{ query: string; calls: number; buffers: number; wal: number }>(
    `select query, calls::float8, (shared_blks_hit + shared_blks_read)::float8 as buffers, wal_bytes::float8 as wal
     from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`,
  );
  const sample: Sample = { roundTrips: 0, buffers: 0, walBytes: 0, otherCalls: 0 };
  const add = (name: string, value: number) => {
    sample[name] = (sample[name] ?? 0) + value;
  };
  for (const [name, mark] of Object.entries(STATEMENTS)) {
    for (const row of rows.filter(({ query }) => mark.test(query))) {
      add('roundTrips', row.calls / events);
      add('buffers', row.buffers / events);
      add('walBytes', row.wal / events);
      add(`${name}Buffers`, row.buffers / events);
      add(`${name}RoundTrips`, row.calls / events);
    }
  }
  const marks = Object.values(STATEMENTS);
  // Statements of the bench itself do not count.
  const own = /pg_stat|select not exists/;
  for (const row of rows)
    if (!marks.some((mark) => mark.test(row.query)) && !own.test(row.query)) add('otherCalls', row.calls);
  return sample;
}

interface RowVersions {
  inserted: number;
  updated: number;
  deleted: number;
  deliveriesUpdated: number;
  deliveriesHot: number;
}

/** Without counts: a batch inserts one row, and a node adds them up by the clock. */
function rowVersions(service: Service): Promise<RowVersions> {
  return service.query<RowVersions>(
    `select sum(n_tup_ins)::float8 as inserted, sum(n_tup_upd)::float8 as updated, sum(n_tup_del)::float8 as deleted,
       coalesce(sum(n_tup_upd) filter (where relname like 'event\\_deliveries%'), 0)::float8 as "deliveriesUpdated",
       coalesce(sum(n_tup_hot_upd) filter (where relname like 'event\\_deliveries%'), 0)::float8 as "deliveriesHot"
     from pg_stat_user_tables where relname !~ '^(nodes|schema_migrations|recent_counts|traffic|endpoint_totals)'`,
  );
}

async function settled(
  service: Service,
  before: RowVersions,
  { events, attempts }: { events: number; attempts: number },
): Promise<RowVersions> {
  for (const startedMs = performance.now(); ; await pause(200)) {
    const now = await rowVersions(service);
    // Events, deliveries, queue and the attempts that ended no delivery; finishes; ended queue rows.
    const isThere =
      now.inserted - before.inserted >= events * (2 + attempts) &&
      now.deliveriesUpdated - before.deliveriesUpdated >= events * attempts &&
      now.deleted - before.deleted >= events;
    if (isThere) return now;
    if (performance.now() - startedMs > STATISTICS_MS)
      throw new Error(`row versions did not come: ${JSON.stringify({ before, now, events, attempts })}`);
  }
}

/**
 * Samples the connections: of the active ones, the share that waits for a lock of a row or transaction, and
 * the share that waits for another to extend a table.
 */
function watchLocks(service: Service): { stop(): Promise<Sample> } {
  const over = new AbortController();
  let active = 0;
  let waiting = 0;
  let extending = 0;
  const watching = (async () => {
    while (!over.signal.aborted) {
      const { rows } = await service.db.query<{ active: number; waiting: number; extending: number }>(
        `select count(*)::int as active,
           count(*) filter (where wait_event_type = 'Lock' and wait_event <> 'extend')::int as waiting,
           count(*) filter (where wait_event_type = 'Lock' and wait_event = 'extend')::int as extending
         from pg_stat_activity where state = 'active' and datname = current_database() and pid <> pg_backend_pid()`,
      );
      active += rows[0]?.active ?? 0;
      waiting += rows[0]?.waiting ?? 0;
      extending += rows[0]?.extending ?? 0;
      await pause(LOOK_MS);
    }
  })();
  return {
    stop: async () => {
      over.abort();
      await watching;
      const share = (count: number) => (active === 0 ? 0 : count / active);
      return { lockWaitShare: share(waiting), extendWaitShare: share(extending) };
    },
  };
}
