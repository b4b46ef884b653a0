import type { Database, Queryable } from '../database/database.ts';
import { freeRateLeases, unknownHolders } from '../limits/rate-leases.ts';

const REAPER_LOCK = 7_305_503;
/** Longer than any statement of the hot path may take. */
const REMEMBERED = '1 minute';

export interface BeatingNode {
  id: string;
  roles: string;
  /** The number of the newest migration that it knows. */
  knows: string;
  /** Ids of the secret keys it has, the sealing one first. */
  sealKeys: readonly string[];
}

/** Renews this node's lease. Returns the database's clock in milliseconds. */
export async function beat(db: Database, node: BeatingNode): Promise<number> {
  const rows = await db.beat<{ now_ms: number }>(
    'beat',
    `insert into nodes (id, roles, knows, seal_keys) values ($1, $2, $3, $4)
     on conflict (id) do update set beat_at = clock_timestamp()
     returning extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`,
    [node.id, node.roles, node.knows, node.sealKeys],
  );
  return rows[0]?.now_ms ?? Number.NaN;
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
 * Frees the rows of nodes that are silent for `silentSeconds`. A freed row gets a higher fence, so that its
 * former holder can no longer finish it. A silent node is kept for a minute and its rows are freed
 * repeatedly, because a batch it sent just before may commit after the first pass. With `strays` rows of
 * unknown nodes are freed too, which reads the whole queue.
 *
 * One node reaps at a time; the others skip. Returns the freed rows.
 */
export async function reapSilentNodes(
  db: Database,
  silentSeconds: number,
  also: { strays: boolean },
): Promise<number> {
  return db.transaction(async (tx) => {
    const [lock] = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
      REAPER_LOCK,
    ]);
    if (lock?.mine !== true) return 0;
    const dead = await tx.query<{ id: string }>(
      `select id from nodes where beat_at < clock_timestamp() - $1 * interval '1 second'`,
      [silentSeconds],
    );
    if (dead.length === 0 && !also.strays) return 0;
    const [freed] = await tx.query<{ count: number }>(
      `with freed as (
         update delivery_queue set node_id = null, fence = fence + 1
         where node_id is not null
           and node_id not in (select id from nodes where beat_at >= clock_timestamp() - $1 * interval '1 second')
         returning 1
       ) select count(*) from freed`,
      [silentSeconds],
    );
    const forgotten = await tx.query<{ id: string }>(
      `select id from nodes where id = any($1) and beat_at < clock_timestamp() - interval '${REMEMBERED}' for update`,
      [dead.map((node) => node.id)],
    );
    const gone = forgotten.map((node) => node.id);
    await freeRateLeases(tx, also.strays ? [...gone, ...(await unknownHolders(tx))] : gone);
    await tx.query('delete from nodes where id = any($1)', [gone]);
    return freed?.count ?? 0;
  });
}

/** The last act of a stopping node: its rows return to the queue. */
export async function leave(db: Database, nodeId: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('update delivery_queue set node_id = null, fence = fence + 1 where node_id = $1', [
      nodeId,
    ]);
    await freeRateLeases(tx, [nodeId]);
    await tx.query('delete from nodes where id = $1', [nodeId]);
  });
}

/** For a start that knows that no other node is alive: it need not wait for a lease to expire. */
export async function freeAllHeld(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('update delivery_queue set node_id = null, fence = fence + 1 where node_id is not null');
    const nodes = await tx.query<{ id: string }>('select id from nodes');
    await freeRateLeases(tx, [...nodes.map((node) => node.id), ...(await unknownHolders(tx))]);
    await tx.query('delete from nodes');
  });
}
