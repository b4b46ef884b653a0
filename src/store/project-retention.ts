import { parseGoDuration } from '../domain/duration.ts';
import { firstIdAt } from '../domain/ids.ts';
import type { Database } from './database.ts';

/**
 * Removes what projects keep for a shorter time than the instance does (retention.ts). Their rows share partitions
 * with those of others, so they go one by one, in chunks, and only below the project's oldest open event or delivery.
 */
const CHUNK = 1_000;

/** Each removes one chunk of a project ($1) below an id ($2) and answers with a row per removed one. */
const REMOVALS = [
  `with gone as (
     delete from event_deliveries where project_id = $1 and id in (
       select id from event_deliveries where project_id = $1 and id < $2 order by id limit ${CHUNK}) returning id
   ), attempts as (
     delete from delivery_attempts where project_id = $1 and delivery_id in (select id from gone)
   ) select id from gone`,
  ...['events', 'meta_events'].map(
    (table) => `delete from ${table} where project_id = $1 and id in (
       select id from ${table} where project_id = $1 and id < $2 order by id limit ${CHUNK}) returning id`,
  ),
  `delete from event_keys where project_id = $1 and ctid = any(array(
     select ctid from event_keys where project_id = $1 and event_id < $2 limit ${CHUNK})) returning 1`,
];

export async function removeExpiredOfProjects(db: Database, nowMs: number): Promise<void> {
  const projects = await db.query<{ id: string; policy: string }>(
    `select id, config->>'retention_policy' as policy from projects
     where deleted_at is null and config->>'retention_policy' <> ''`,
  );
  for (const { id, policy } of projects) {
    const horizon = await removableBelow(db, id, firstIdAt(nowMs - (parseGoDuration(policy) ?? nowMs)));
    for (const statement of REMOVALS) {
      while ((await db.query(statement, [id, horizon])).length === CHUNK);
    }
  }
}

async function removableBelow(db: Database, projectId: string, expired: string): Promise<string> {
  const [open] = await db.query<{ oldest: string | null }>(
    `select least(min(delivery_id), min(event_id), (select min(event_id) from expansions where project_id = $1)) as oldest
     from delivery_queue where project_id = $1`,
    [projectId],
  );
  return open?.oldest != null && open.oldest < expired ? open.oldest : expired;
}
