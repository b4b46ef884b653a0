import type { Place } from '../../domain/delivery.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Database, Queryable } from '../database/database.ts';
import { releaseNext } from './release-next.ts';

/**
 * Keys whose deliveries would wait for ever. Every end of a head lets the next one go in the same commit, so that such a key
 * can be left only by a node of a version before ordering keys, or by removal of the head that holds it:
 *   lost    -> the head has no row in the queue and holds nothing, or deliveries wait and there is no head;
 *   expired -> the head failed and holds the key, and was removed by age.
 */
export interface StuckKey {
  projectId: ProjectId;
  id: string;
  state: 'lost' | 'expired';
}

/** One of them. A walk over all keys goes on behind it. */
export type KeyName = Pick<StuckKey, 'projectId' | 'id'>;

const STATE = `case
  when k.head_id is null then case when exists (
    select from ordered_deliveries w where w.project_id = k.project_id and w.ordering_id = k.id) then 'lost' end
  when k.held_at is null then case when not exists (
    select from delivery_queue q where q.project_id = k.project_id and q.delivery_id = k.head_id) then 'lost' end
  when not exists (
    select from event_deliveries d where d.id = k.head_id and d.project_id = k.project_id) then 'expired'
end`;

/** A page is one short statement. */
const PAGE = 1_000;

/** The stuck keys of the next page. `next` is null after the last page. */
export async function stuckKeys(
  db: Database,
  after: KeyName | null,
): Promise<{ stuck: StuckKey[]; next: KeyName | null }> {
  const rows = await db.query<KeyName & { state: StuckKey['state'] | null; is_last: boolean }>(
    `with page as materialized (
       select project_id, id, head_id, held_at from ordering_keys
       where (project_id, id) > ($1, $2) order by project_id, id limit ${PAGE}
     ), judged as materialized (
       select project_id, id, ${STATE} as state, row_number() over (order by project_id, id) = ${PAGE} as is_last from page k
     )
     select project_id as "projectId", id, state, is_last from judged where state is not null or is_last`,
    [after?.projectId ?? '', after?.id ?? ''],
  );
  const stuck = rows.flatMap(({ projectId, id, state }) =>
    state === null ? [] : [{ projectId, id, state }],
  );
  return { stuck, next: rows.find(({ is_last }) => is_last) ?? null };
}

const KEYS = `ordering_keys k join unnest($1::text[], $2::text[]) as n (project_id, id)
  on k.project_id = n.project_id and k.id = n.id`;

const HEAL = `
with ended as materialized (
  select k.project_id, k.id as ordering_id, k.head_id as delivery_id, null as held_by from ${KEYS}
  where (${STATE}) is not null
), ${releaseNext()}, counted as (select count(*)::int as healed from turned)
select null as "projectId", null as key, null::int as lane, healed from counted
union all select project_id, key, lane, 0 from released`;

/** Lets the next deliveries of those keys go that are still stuck. The next one may be lost too: repeat it until 0. */
export async function healKeys(
  tx: Queryable,
  keys: readonly KeyName[],
): Promise<{ healed: number; released: Place[] }> {
  const names = [keys.map(({ projectId }) => projectId), keys.map(({ id }) => id)];
  await tx.query(`select from ${KEYS} order by k.project_id, k.id for update of k`, names);
  // A head that is not there, so that all keys end one.
  await tx.query(
    `update ordering_keys k set head_id = '' from unnest($1::text[], $2::text[]) as n (project_id, id)
     where k.project_id = n.project_id and k.id = n.id and k.head_id is null and (${STATE}) is not null`,
    names,
  );
  const rows = await tx.query<Place & { projectId: string | null; healed: number }>(HEAL, names);
  const released = rows.flatMap(({ projectId, key, lane }) =>
    projectId === null ? [] : [{ projectId, key, lane }],
  );
  return { healed: rows.reduce((sum, { healed }) => sum + healed, 0), released };
}
