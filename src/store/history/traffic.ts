import type { Database, Queryable } from '../database/database.ts';
import { type Column, namesOf, Parameters } from '../database/parameters.ts';

/**
 * Counts of traffic per subject (a project, endpoint or source), minute or hour, and node. A node writes the totals of
 * its own rows, so a write that is repeated changes nothing.
 */
export interface TrafficRow {
  projectId: string;
  subjectId: string;
  step: TrafficStep;
  startMs: number;
  accepted: number;
  delivered: number;
  failed: number;
  attempts: number;
  failedAttempts: number;
  latencies: Uint32Array | null;
}

export type TrafficStep = 'minute' | 'hour';

/** Minutes that one row covers. */
const LENGTH: Record<TrafficStep, number> = { minute: 1, hour: 60 };

const totals: readonly Column<TrafficRow>[] = [
  ['accepted', 'int', (row) => row.accepted],
  ['delivered', 'int', (row) => row.delivered],
  ['failed', 'int', (row) => row.failed],
  ['attempts', 'int', (row) => row.attempts],
  ['failed_attempts', 'int', (row) => row.failedAttempts],
];
const TOTALS = namesOf(totals);
const parameters = new Parameters<{ nodeId: string; rows: readonly TrafficRow[] }>();
const node = parameters.one('text', (batch) => batch.nodeId);
const written = parameters.rows(
  (batch) => batch.rows,
  [
    ['project_id', 'id', (row) => row.projectId],
    ['subject_id', 'id', (row) => row.subjectId],
    ['step', 'int', (row) => LENGTH[row.step]],
    ['start', 'time', (row) => row.startMs],
    ...totals,
    ['buckets', 'text', (row) => literal(used(row.latencies).map(([bucket]) => bucket))],
    ['bucket_counts', 'text', (row) => literal(used(row.latencies).map(([, count]) => count))],
  ],
);
const arrays = { buckets: 'buckets::smallint[]', bucket_counts: 'bucket_counts::int[]' };
const WRITE = `
insert into traffic (node_id, ${written.names()})
select ${node}, ${written.stored(arrays)} from ${written.as('t')} order by project_id, subject_id, step, start
on conflict (project_id, subject_id, step, start, node_id) do update
set ${[...TOTALS, 'buckets', 'bucket_counts'].map((name) => `${name} = excluded.${name}`).join(', ')}`;

/** The counts of a histogram that are not zero. */
function used(latencies: Uint32Array | null): [bucket: number, count: number][] {
  return [...(latencies ?? []).entries()].filter(([, count]) => count > 0);
}

const literal = (numbers: readonly number[]) => `{${numbers.join(',')}}`;

export async function writeTraffic(db: Database, nodeId: string, rows: readonly TrafficRow[]): Promise<void> {
  await db.query(WRITE, parameters.values({ nodeId, rows }));
}

export interface TrafficPoint {
  start: number;
  accepted: number;
  delivered: number;
  failed: number;
  attempts: number;
  failed_attempts: number;
}

export interface TrafficQuery {
  projectId: string;
  subjectIds: readonly string[];
  step: TrafficStep | 'day';
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

/** The rows of a query. Days are made of hours. */
function rowsOf(query: TrafficQuery): { start: string; where: string; values: unknown[] } {
  return {
    start: query.step === 'day' ? "date_trunc('day', start, 'UTC')" : 'start',
    where: `project_id = $1 and subject_id = any($2) and step = $3
      and start >= to_timestamp($4::float8 / 1000) and start < to_timestamp($5::float8 / 1000)`,
    values: [
      query.projectId,
      query.subjectIds,
      LENGTH[query.step === 'day' ? 'hour' : query.step],
      query.fromMs,
      query.toMs,
    ],
  };
}

/** The counts of all subjects and nodes together, oldest first, without empty steps. */
export function readTraffic(db: Queryable, query: TrafficQuery): Promise<TrafficPoint[]> {
  const { start, where, values } = rowsOf(query);
  return db.query<TrafficPoint>(
    `select ${start} as start, ${TOTALS.map((name) => `sum(${name})::bigint as ${name}`).join(', ')}
     from traffic where ${where} group by 1 order by 1`,
    values,
  );
}

/** Successful deliveries by start and latency bucket. */
export function readLatencies(
  db: Queryable,
  query: TrafficQuery,
): Promise<{ start: number; bucket: number; count: number }[]> {
  const { start, where, values } = rowsOf(query);
  return db.query(
    `select ${start} as start, bucket, sum(count)::bigint as count
     from traffic cross join lateral unnest(buckets, bucket_counts) as l(bucket, count)
     where ${where} group by 1, 2`,
    values,
  );
}

/** Those of the endpoints to which a delivery failed in a range, as far as nodes have stored their counts. */
export async function endpointsWithFailures(
  db: Queryable,
  projectId: string,
  wanted: { endpointIds: readonly string[]; fromMs: number; toMs: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select e.id from unnest($2::text[]) e(id) where exists (
       select from traffic t where t.project_id = $1 and t.subject_id = e.id and t.step = ${LENGTH.hour} and t.failed > 0
         and t.start >= date_trunc('hour', to_timestamp($3::float8 / 1000), 'UTC') and t.start <= to_timestamp($4::float8 / 1000))`,
    [projectId, wanted.endpointIds, wanted.fromMs, wanted.toMs],
  );
  return rows.map((row) => row.id);
}
