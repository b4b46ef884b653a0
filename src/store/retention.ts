import { firstIdAt } from '../domain/ids.ts';
import type { Database } from './database.ts';
import { partitionBounds } from './partitions.ts';

/**
 * Removes what is older than the retention. A partition goes as a whole, detached without blocking writers and then
 * dropped, and only where it lies below the oldest event or delivery that is still open: an open delivery is never
 * dropped, nor the event it needs. Idempotency keys go with their events, counters and failures counted for alerts with their minute, in chunks, so
 * that no statement holds many locks for long.
 */
const LOCK = 7_305_505;
const CHUNK = 10_000;

export async function removeExpired(db: Database, before: { ms: number }): Promise<string[]> {
  const session = await db.dedicated();
  try {
    const { rows } = await session.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
      LOCK,
    ]);
    if (rows[0]?.mine !== true) return [];
    const horizon = await removableBelow(db, firstIdAt(before.ms));
    const expired = (await partitionBounds(db)).filter(({ to }) => to <= horizon);
    for (const { table, name } of expired) {
      await session.query(`alter table ${table} detach partition ${name} concurrently`);
      await session.query(`drop table ${name}`);
    }
    await removeKeys(db, horizon);
    await db.query('delete from endpoint_counters where minute < to_timestamp($1::float8 / 1000)', [
      before.ms,
    ]);
    await db.query('delete from alert_failures where at < to_timestamp($1::float8 / 1000)', [before.ms]);
    return expired.map(({ name }) => name);
  } finally {
    await session.end();
  }
}

/** The id below which nothing is open. */
async function removableBelow(db: Database, expired: string): Promise<string> {
  const [open] = await db.query<{ oldest: string | null }>(
    `select least(min(delivery_id), min(event_id), (select min(event_id) from expansions)) as oldest from delivery_queue`,
  );
  return open?.oldest != null && open.oldest < expired ? open.oldest : expired;
}

async function removeKeys(db: Database, below: string): Promise<void> {
  let removed: object[];
  do {
    removed = await db.query(
      `delete from event_keys where ctid = any(array(select ctid from event_keys where event_id < $1 limit ${CHUNK})) returning 1`,
      [below],
    );
  } while (removed.length === CHUNK);
}
