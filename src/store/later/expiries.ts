import { LANE } from '../../domain/delivery.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { refuseMoving } from '../config/projects.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { lockKeysOf } from '../ordering/release-next.ts';

/** The condition of a look: a delivery may have expired. */
export const DUE_EXPIRIES = `expires_at <= now()
  and not exists (select from projects p where p.id = delivery_expiries.project_id and p.cell_state is not null)`;

export interface Expiry {
  projectId: ProjectId;
  delivery_id: string;
  /** As text, because a row is found by it. */
  at: string;
}

/** Deliveries that may have expired, the longest expired first, but those of some projects. */
export function dueExpiries(
  db: Queryable,
  { limit, except }: { limit: number; except: readonly ProjectId[] },
): Promise<Expiry[]> {
  return db.query<Expiry>(
    `select project_id as "projectId", delivery_id, expires_at::text as at from delivery_expiries
     where ${DUE_EXPIRIES} and project_id <> all($2) order by expires_at limit $1`,
    [limit, except],
  );
}

/** Expiries by their primary key. */
const OF_GIVEN = `unnest($2::timestamptz[], $3::text[]) as given(at, id)
  where x.expires_at = given.at and x.project_id = $1 and x.delivery_id = given.id`;

/**
 * Locks those of the expiries that no other node works on, and the rows of the queue of their deliveries, in id order as a
 * finish does. Returns the deliveries to end. One that is being sent, or that a consumer has, is looked at again when that
 * may have ended: until then its expiry stays. All other expiries go.
 */
export async function takeExpired(
  tx: Queryable,
  projectId: ProjectId,
  due: readonly Expiry[],
): Promise<string[]> {
  await refuseMoving(tx, projectId);
  const given = (rows: readonly Expiry[]) => [
    projectId,
    rows.map(({ at }) => at),
    rows.map((row) => row.delivery_id),
  ];
  const mine = await tx.query<Expiry>(
    `select x.project_id as "projectId", x.delivery_id, x.expires_at::text as at
     from delivery_expiries x, ${OF_GIVEN} for update of x skip locked`,
    given(due),
  );
  // Keys before rows of the queue, as every end of an ordered delivery.
  await lockKeysOf(tx, projectId, { ids: mine.map((row) => row.delivery_id), among: 'open' });
  const rows = await openRows(tx, projectId, mine);
  const isTaken = new Map(rows.map((row) => [row.delivery_id, row.is_taken]));
  const kept = mine.filter((row) => isTaken.get(row.delivery_id) === true);
  const gone = mine.filter((row) => isTaken.get(row.delivery_id) !== true);
  if (kept.length > 0) await tx.query(LOOK_AGAIN, given(kept));
  if (gone.length > 0) await tx.query(`delete from delivery_expiries x using ${OF_GIVEN}`, given(gone));
  return rows.filter((row) => !row.is_taken).map((row) => row.delivery_id);
}

/** The deliveries that are open and have expired. A resend takes the time away. */
function openRows(
  tx: Queryable,
  projectId: ProjectId,
  of: readonly Expiry[],
): Promise<{ delivery_id: string; is_taken: boolean }[]> {
  return tx.query(
    `select q.delivery_id, q.node_id is not null or q.lane = ${LANE.leased} as is_taken
     from delivery_queue q join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
     where q.project_id = $1 and q.delivery_id = any($2) and d.expires_at <= now()
     order by q.delivery_id for update of q`,
    [projectId, of.map((row) => row.delivery_id)],
  );
}

/** A send ends soon; a lease of a consumer has an end. */
const LOOK_AGAIN = `
update delivery_expiries x
set expires_at = greatest(now() + interval '1 second', (
  select q.due_at from delivery_queue q
  where q.project_id = x.project_id and q.delivery_id = x.delivery_id and q.lane = ${LANE.leased}))
from ${OF_GIVEN}`;
