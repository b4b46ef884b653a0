import { functionRequestPlace } from '../../domain/delivery.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { resealedHeaders, SEALED_HEADERS } from '../database/stored-headers.ts';
import { attempt, type Resealed, replace } from './replace-sealed.ts';

const CHUNK_ROWS = 5_000;

/**
 * A run of events along the key, project by project: those with a sealed header, and the last one in any case,
 * so that the next run knows where to begin. A limit and no upper bound: that is read by the index whatever the planner
 * takes the range for.
 */
const EVENTS = `
with chunk as materialized (
  select project_id, id, headers, forwarded_headers from events where (project_id, id) > ($1, $2)
  order by project_id, id limit ${CHUNK_ROWS}
)
select project_id, id, headers, forwarded_headers from chunk
where headers like $3 or forwarded_headers like $3
  or (project_id, id) = (select project_id, id from chunk order by project_id desc, id desc limit 1)
order by project_id, id`;

interface EventHeaders {
  project_id: string;
  id: string;
  headers: string | null;
  forwarded_headers: string | null;
}

/** Headers of events: all of them, and those that deliveries carry. */
export async function resealEvents(db: Database, sealer: Sealer): Promise<Resealed> {
  const total: Resealed = { table: 'events', done: 0, skipped: 0, failures: [] };
  for (let after = ['', '']; ; ) {
    const events = await db.query<EventHeaders>(EVENTS, [...after, SEALED_HEADERS]);
    const last = events.at(-1);
    if (last === undefined) return total;
    for (const column of ['headers', 'forwarded_headers'] as const) {
      const fresh = events.flatMap(({ project_id, id, [column]: old }) =>
        attempt(total, () => {
          const json = old === null ? null : resealedHeaders(sealer, old, id);
          return old === null || json === null ? null : { projectId: project_id, id, old, fresh: json };
        }),
      );
      const done = await replace(db, 'events t', {
        isRow: (row) => byKey('t.id', `${row}.id`),
        isOld: `t.${column} = f.old`,
        set: `${column} = l.fresh`,
        rows: fresh,
      });
      total.done += done;
      total.skipped += fresh.length - done;
    }
    after = [last.project_id, last.id];
  }
}

/** Reseals rows of deliveries: parts of a request that a function set. */
const DELIVERIES = `
with chunk as materialized (
  select project_id, id, function_request from event_deliveries where (project_id, id) > ($1, $2)
  order by project_id, id limit ${CHUNK_ROWS}
)
select project_id, id, function_request as old from chunk
where function_request is not null
  or (project_id, id) = (select project_id, id from chunk order by project_id desc, id desc limit 1)
order by project_id, id`;

export async function resealDeliveries(db: Database, sealer: Sealer): Promise<Resealed> {
  const total: Resealed = { table: 'event_deliveries', done: 0, skipped: 0, failures: [] };
  for (let after = ['', '']; ; ) {
    const rows = await db.query<{ project_id: string; id: string; old: string | null }>(DELIVERIES, after);
    const last = rows.at(-1);
    if (last === undefined) return total;
    const fresh = rows.flatMap(({ project_id, id, old }) =>
      attempt(total, () => {
        const sealed = Buffer.from(old ?? '', 'base64');
        if (old === null || sealer.isCurrent(sealed)) return null;
        const place = functionRequestPlace(id);
        const again = sealer.seal(sealer.open(sealed, place), place).toString('base64');
        return { projectId: project_id, id, old, fresh: again };
      }),
    );
    const done = await replace(db, 'event_deliveries t', {
      isRow: (row) => byKey('t.id', `${row}.id`),
      isOld: 't.function_request = f.old',
      set: 'function_request = l.fresh',
      rows: fresh,
    });
    total.done += done;
    total.skipped += fresh.length - done;
    after = [last.project_id, last.id];
  }
}
