import { SealError, type Sealer } from '../../platform/sealer.ts';
import { byKey } from '../database/by-key.ts';
import type { Database, Queryable } from '../database/database.ts';
import { resealedHeaders, SEALED_HEADERS } from '../database/stored-headers.ts';

/**
 * Reseals, with the current key, every value that another key has sealed: table by table, in chunks in order
 * of id. It is idempotent, so it may be killed and run again, or run twice at once. A row changes only if it
 * still has the value that was read. A locked row is left for the next round, so no node ever waits for this.
 * Versions and times of rows do not change, because nodes have both keys.
 */
const CHUNK_ROWS = 200;
const CHUNK_EVENTS = 5_000;

interface SealedColumn {
  table: string;
  id: string;
  column: string;
  place(id: string): string;
}

const columns: readonly SealedColumn[] = [
  { table: 'projects', id: 'id', column: 'sealed', place: (id) => `project ${id}` },
  { table: 'projects', id: 'id', column: 'sealed_keys', place: (id) => `keys of project ${id}` },
  { table: 'endpoints', id: 'id', column: 'sealed', place: (id) => `endpoint ${id}` },
  { table: 'sources', id: 'id', column: 'sealed', place: (id) => `source ${id}` },
  { table: 'portal_links', id: 'id', column: 'sealed_token', place: (id) => `portal link ${id}` },
  { table: 'people', id: 'id', column: 'sealed_totp', place: (id) => `second factor of ${id}` },
  { table: 'idempotency_keys', id: 'id', column: 'sealed', place: (id) => `idempotency key ${id}` },
  { table: 'jobs', id: 'id', column: 'sealed', place: (id) => `job ${id}` },
  { table: 'change_stream_slots', id: 'id', column: 'sealed', place: (id) => `change stream ${id}` },
  { table: 'instance_secrets', id: 'name', column: 'sealed', place: (name) => `instance secret ${name}` },
];

export interface Resealed {
  table: string;
  /** Resealed values; for events, rows. */
  done: number;
  /** Not changed: locked, or modified meanwhile. */
  skipped: number;
  /** Why values could not be opened. */
  failures: string[];
}

/** One round over all tables, one at a time. */
export async function* resealAll(db: Database, sealer: Sealer): AsyncGenerator<Resealed> {
  for (const column of columns) yield await resealColumn(db, sealer, column);
  yield await resealEvents(db, sealer);
}

async function resealColumn(db: Database, sealer: Sealer, at: SealedColumn): Promise<Resealed> {
  const total: Resealed = { table: at.table, done: 0, skipped: 0, failures: [] };
  for (let after = ''; ; ) {
    const rows = await db.query<{ id: string; old: string }>(
      `select ${at.id} as id, encode(${at.column}, 'hex') as old from ${at.table}
       where ${at.id} > $1 and ${at.column} is not null and substring(${at.column} from 1 for length($2::bytea)) <> $2
       order by ${at.id} limit ${CHUNK_ROWS}`,
      [after, sealer.head],
    );
    const last = rows.at(-1);
    if (last === undefined) return total;
    after = last.id;
    const fresh = rows.flatMap(({ id, old }) =>
      attempt(total, () => {
        const text = sealer.open(Buffer.from(old, 'hex'), at.place(id));
        return { id, old, fresh: sealer.seal(text, at.place(id)).toString('hex') };
      }),
    );
    const done = await replace(db, `${at.table} t`, {
      isRow: (row) => `t.${at.id} = ${row}.id`,
      isOld: `t.${at.column} = decode(f.old, 'hex')`,
      set: `${at.column} = decode(l.fresh, 'hex')`,
      rows: fresh,
    });
    total.done += done;
    total.skipped += fresh.length - done;
  }
}

/**
 * A run of events along the key, project by project: those with a sealed header, and the last one in any case,
 * so that the next run knows where to begin. A limit and no upper bound: that is read by the index whatever the planner
 * takes the range for.
 */
const EVENTS = `
with chunk as materialized (
  select project_id, id, headers, forwarded_headers from events where (project_id, id) > ($1, $2)
  order by project_id, id limit ${CHUNK_EVENTS}
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
async function resealEvents(db: Database, sealer: Sealer): Promise<Resealed> {
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

interface Fresh {
  /** If the table is keyed by project. */
  projectId?: string;
  id: string;
  old: string;
  fresh: string;
}

function attempt(total: Resealed, make: () => Fresh | null): Fresh[] {
  try {
    const made = make();
    return made === null ? [] : [made];
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    total.failures.push(error.message);
    return [];
  }
}

async function replace(
  db: Queryable,
  table: string,
  change: { isRow(row: string): string; isOld: string; set: string; rows: Fresh[] },
): Promise<number> {
  const { rows } = change;
  if (rows.length === 0) return 0;
  const [result] = await db.query<{ count: number }>(
    `with locked as (
       select f.project_id, f.id, f.fresh
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as f(project_id, id, old, fresh)
       join ${table} on ${change.isRow('f')} and ${change.isOld}
       for update of t skip locked
     ), done as (
       update ${table} set ${change.set} from locked l where ${change.isRow('l')} returning 1
     ) select count(*) from done`,
    [
      rows.map((row) => row.projectId ?? null),
      rows.map((row) => row.id),
      rows.map((row) => row.old),
      rows.map((row) => row.fresh),
    ],
  );
  return result?.count ?? 0;
}
