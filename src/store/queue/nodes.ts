import type { QueueRowKey } from '../../domain/delivery-sink.ts';
import type { Database, Queryable } from '../database/database.ts';
import { SILENT_SECONDS } from '../database/node-lease.ts';
import { freeRateLeases, unknownHolders } from '../limits/rate-leases.ts';

const REAPER_LOCK = 7_305_503;
/** Longer than any statement of the hot path may take. */
const REMEMBERED = '1 minute';

const NOW_MS = 'extract(epoch from clock_timestamp())::float8 * 1000 as now_ms';

/** The database's clock in milliseconds. */
export async function databaseTime(db: Queryable): Promise<number> {
  const [row] = await db.query<{ now_ms: number }>(`select ${NOW_MS}`);
  return row?.now_ms ?? Number.NaN;
}

export interface BeatingNode {
  id: string;
  roles: string;
  /** The number of the newest migration that it knows. */
  knows: string;
  /** Ids of the secret keys it has, the sealing one first. */
  sealKeys: readonly string[];
  /** It commits no event with an id below this one. */
  inFlightFrom: string;
  /** It has seen the config of this time of the database. Null: it does not say. */
  configSeenAtMs?: number | null;
}

export interface SilentNode {
  id: string;
  /** No statement that it sent can still run. */
  isForgettable: boolean;
}

export interface Beat {
  /** The database's clock in milliseconds. */
  nowMs: number;
  /** The other nodes whose last beat is older than `SILENT_SECONDS`. */
  silent: SilentNode[];
}

/** Renews this node's lease and says which ids it may still commit. The first beat of a node says nothing of ids. */
export async function beat(db: Database, node: BeatingNode): Promise<Beat> {
  const [row] = await db.beat<{ now_ms: number; silent: SilentNode[] }>(
    'beat',
    `insert into nodes (id, roles, knows, seal_keys) values ($1, $2, $3, $4)
     on conflict (id) do update set beat_at = clock_timestamp(), in_flight_from = $5,
       config_seen_at = to_timestamp($6::float8 / 1000)
     returning ${NOW_MS}, (
       select coalesce(json_agg(json_build_object(
         'id', n.id, 'isForgettable', n.beat_at < clock_timestamp() - interval '${REMEMBERED}')), '[]')
       from nodes n where n.id <> $1 and n.beat_at < clock_timestamp() - interval '${SILENT_SECONDS} seconds'
     ) as silent`,
    [node.id, node.roles, node.knows, node.sealKeys, node.inFlightFrom, node.configSeenAtMs ?? null],
  );
  return { nowMs: row?.now_ms ?? Number.NaN, silent: row?.silent ?? [] };
}

export interface NodeRow {
  id: string;
  roles: string;
  knows: string;
  started_at: number;
  beat_at: number;
  silent_seconds: number;
}

/** Oldest first. */
export function knownNodes(db: Queryable): Promise<NodeRow[]> {
  return db.query<NodeRow>(
    `select id, roles, knows, started_at, beat_at,
       extract(epoch from clock_timestamp() - beat_at)::float8 as silent_seconds
     from nodes order by id`,
  );
}

/** Ids of the nodes at work that do not know a migration. */
export async function nodesBefore(db: Queryable, migration: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from nodes
     where knows < $1 and beat_at > clock_timestamp() - interval '${SILENT_SECONDS} seconds' order by id`,
    [migration],
  );
  return rows.map(({ id }) => id);
}

/**
 * The oldest id that another node may still commit, and the database's clock from before the nodes were read. After
 * `silentMs` from `sinceMs` on, nodes that are silent for as long do not count.
 */
export async function inFlightElsewhere(
  db: Queryable,
  nodeId: string,
  { sinceMs, silentMs }: { sinceMs: number; silentMs: number },
): Promise<{ oldest: string | null; nowMs: number }> {
  const [row] = await db.query<{ oldest: string | null; now_ms: number }>(
    `select min(in_flight_from) as oldest, extract(epoch from statement_timestamp())::float8 * 1000 as now_ms
     from nodes where id <> $1 and (
       beat_at >= statement_timestamp() - $3 * interval '1 millisecond'
       or statement_timestamp() < to_timestamp(($2::float8 + $3) / 1000))`,
    [nodeId, sinceMs, silentMs],
  );
  return { oldest: row?.oldest ?? null, nowMs: row?.now_ms ?? 0 };
}

/** Nodes with a heartbeat within `silentSeconds`. */
export async function liveNodes(
  db: Queryable,
  silentSeconds: number,
): Promise<Pick<BeatingNode, 'id' | 'sealKeys'>[]> {
  const rows = await db.query<{ id: string; seal_keys: string[] }>(
    `select id, seal_keys from nodes where beat_at >= clock_timestamp() - $1 * interval '1 second' order by id`,
    [silentSeconds],
  );
  return rows.map((row) => ({ id: row.id, sealKeys: row.seal_keys }));
}

/**
 * Reads of the queue by holder go over ranges of its pages, because no index has the holder: accepting and claiming
 * would have to maintain it. So each statement reads at most this many pages: 16 MiB, some 70,000 waiting rows, 25 to
 * 55 ms. All of 2 million waiting rows take 29 statements and 1.6 s.
 */
const PAGES_AT_ONCE = 2_048;

const PAGES = "select pg_relation_size('delivery_queue') / current_setting('block_size')::int as pages";
const IN_PAGES = 'ctid >= $1::tid and ctid < $2::tid';

/** A range of pages from `page` on. `nextPage` is 0 after the last. */
async function pagesFrom(
  db: Queryable,
  page: number,
): Promise<{ range: [from: string, to: string]; nextPage: number }> {
  const [table] = await db.query<{ pages: number }>(PAGES);
  const next = page + PAGES_AT_ONCE;
  return { range: [`(${page},0)`, `(${next},0)`], nextPage: next < (table?.pages ?? 0) ? next : 0 };
}

/** The rows of a node on some pages of the queue. */
export async function leasedInPages(
  db: Queryable,
  nodeId: string,
  page: number,
): Promise<{ rows: QueueRowKey[]; nextPage: number }> {
  const { range, nextPage } = await pagesFrom(db, page);
  const rows = await db.query<QueueRowKey>(
    `select project_id as "projectId", delivery_id as id from delivery_queue where ${IN_PAGES} and node_id = $3`,
    [...range, nodeId],
  );
  return { rows, nextPage };
}

/**
 * Frees the rows of nodes that are silent for `silentSeconds`, or unknown, on some pages of the queue. A freed row gets
 * a higher fence, so that its former holder can no longer finish it.
 */
export async function freeInPages(
  db: Queryable,
  silentSeconds: number,
  page: number,
): Promise<{ freed: number; nextPage: number }> {
  const { range, nextPage } = await pagesFrom(db, page);
  const [freed] = await db.query<{ count: number }>(
    `with freed as (
       update delivery_queue set node_id = null, fence = fence + 1
       where ${IN_PAGES} and node_id is not null
         and node_id not in (select id from nodes where beat_at >= clock_timestamp() - $3 * interval '1 second')
       returning 1
     ) select count(*) from freed`,
    [...range, silentSeconds],
  );
  return { freed: freed?.count ?? 0, nextPage };
}

/** Runs the work while no other node does. Null: another one does. The work commits its own statements. */
export function asReaper<T>(db: Database, work: () => Promise<T>): Promise<T | null> {
  return db.transaction(async (tx) => {
    const [lock] = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      REAPER_LOCK,
    ]);
    return lock?.mine === true ? work() : null;
  });
}

/** Removes silent nodes whose rows are freed, except one that beats again. */
export async function forgetNodes(db: Database, ids: readonly string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const forgotten = await tx.query<{ id: string }>(
      `select id from nodes where id = any($1) and beat_at < clock_timestamp() - interval '${REMEMBERED}' for update`,
      [ids],
    );
    const gone = forgotten.map((node) => node.id);
    await freeRateLeases(tx, gone);
    await tx.query('delete from nodes where id = any($1)', [gone]);
  });
}

/** Frees the rate leases of nodes that are not remembered. */
export async function freeStrayLeases(db: Database): Promise<void> {
  await db.transaction(async (tx) => freeRateLeases(tx, await unknownHolders(tx)));
}

/** The last act of a stopping node, which has released its rows. */
export async function leave(db: Database, nodeId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await freeRateLeases(tx, [nodeId]);
    await tx.query('delete from nodes where id = $1', [nodeId]);
  });
}

/** For a start that knows that no other node is alive: it need not wait for a lease to expire. */
export async function freeAllLeased(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('update delivery_queue set node_id = null, fence = fence + 1 where node_id is not null');
    const nodes = await tx.query<{ id: string }>('select id from nodes');
    await freeRateLeases(tx, [...nodes.map((node) => node.id), ...(await unknownHolders(tx))]);
    await tx.query('delete from nodes');
  });
}
