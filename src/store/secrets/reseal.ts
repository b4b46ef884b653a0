import { functionRequestPlace } from '../../domain/delivery.ts';
import { SealError, type Sealer } from '../../platform/sealer.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { resealedHeaders, SEALED_HEADERS } from '../database/stored-headers.ts';

/**
 * Reseals, with the current key, every value that another key has sealed: table by table, in chunks in order
 * of id. It is idempotent, so it may be killed and run again, or run twice at once. A row changes only if it
 * still has the value that was read. A locked row is left for the next round, so no node ever waits for this.
 * Versions and times of rows do not change, because nodes have both keys.
 */
export interface Resealed {
  table: string;
  /** Resealed values; for events, rows. */
  done: number;
  /** Not changed: locked, or modified meanwhile. */
  skipped: number;
  /** Why values could not be opened. */
  failures: string[];
}

/** A row with a sealed value, of a project if its table is keyed by that. */
interface SealedRow {
  project_id?: string;
  id: string;
  /** Null: nothing is sealed here. */
  old: string | null;
}

interface SealedColumn {
  /** The table is named `t`. */
  table: string;
  /** SQL: the row `t` of another row. */
  isRow(row: string): string;
  /** SQL of the stored value, from the text `f.old` or `l.fresh`. */
  column: string;
  stored(text: string): string;
  /** Null: it is sealed with the current key. */
  fresh(old: string, id: string): string | null;
}

const CHUNK_ROWS = 200;
const CHUNK_KEYED_ROWS = 5_000;

/** Tables with a sealed column that are not keyed by project, by the column that names the row. */
const columns: readonly { table: string; id: string; column: string; place(id: string): string }[] = [
  { table: 'projects', id: 'id', column: 'sealed', place: (id) => `project ${id}` },
  { table: 'projects', id: 'id', column: 'sealed_keys', place: (id) => `keys of project ${id}` },
  { table: 'projects', id: 'id', column: 'sealed_variables', place: (id) => `variables of project ${id}` },
  { table: 'endpoints', id: 'id', column: 'sealed', place: (id) => `endpoint ${id}` },
  { table: 'sources', id: 'id', column: 'sealed', place: (id) => `source ${id}` },
  { table: 'portal_links', id: 'id', column: 'sealed_token', place: (id) => `portal link ${id}` },
  { table: 'people', id: 'id', column: 'sealed_totp', place: (id) => `second factor of ${id}` },
  { table: 'idempotency_keys', id: 'id', column: 'sealed', place: (id) => `idempotency key ${id}` },
  { table: 'jobs', id: 'id', column: 'sealed', place: (id) => `job ${id}` },
  { table: 'change_stream_slots', id: 'id', column: 'sealed', place: (id) => `change stream ${id}` },
  { table: 'cells', id: 'name', column: 'sealed_url', place: (name) => `cell ${name}` },
  { table: 'instance_secrets', id: 'name', column: 'sealed', place: (name) => `instance secret ${name}` },
];

/** One round over all tables, one at a time. */
export async function* resealAll(db: Database, sealer: Sealer): AsyncGenerator<Resealed> {
  for (const column of columns) yield await resealColumn(db, sealer, column);
  yield await resealEvents(db, sealer);
  yield await resealDeliveries(db, sealer);
}

const resealed = (table: string): Resealed => ({ table, done: 0, skipped: 0, failures: [] });

async function resealColumn(
  db: Database,
  sealer: Sealer,
  { table, id, column, place }: (typeof columns)[number],
): Promise<Resealed> {
  const total = resealed(table);
  for (let after = ''; ; ) {
    const rows = await db.query<SealedRow>(
      `select ${id} as id, encode(${column}, 'hex') as old from ${table}
       where ${id} > $1 and ${column} is not null and substring(${column} from 1 for length($2::bytea)) <> $2
       order by ${id} limit ${CHUNK_ROWS}`,
      [after, sealer.head],
    );
    const last = rows.at(-1);
    if (last === undefined) return total;
    after = last.id;
    await reseal(db, total, rows, {
      table,
      isRow: (row) => `t.${id} = ${row}.id`,
      column,
      stored: (text) => `decode(${text}, 'hex')`,
      fresh: (old, of) =>
        sealer.seal(sealer.open(Buffer.from(old, 'hex'), place(of)), place(of)).toString('hex'),
    });
  }
}

interface EventHeaders {
  project_id: string;
  id: string;
  headers: string | null;
  forwarded_headers: string | null;
}

/** Headers of events: all of them, and those that deliveries carry. */
async function resealEvents(db: Database, sealer: Sealer): Promise<Resealed> {
  const total = resealed('events');
  const where = 'headers like $3 or forwarded_headers like $3';
  const text = chunkOf('events', 'headers, forwarded_headers', where);
  for (let after = ['', '']; ; ) {
    const events = await db.query<EventHeaders>(text, [...after, SEALED_HEADERS]);
    const last = events.at(-1);
    if (last === undefined) return total;
    for (const column of ['headers', 'forwarded_headers'] as const)
      await reseal(
        db,
        total,
        events.map(({ project_id, id, [column]: old }) => ({ project_id, id, old })),
        { ...keyed('events', column), fresh: (old, id) => resealedHeaders(sealer, old, id) },
      );
    after = [last.project_id, last.id];
  }
}

/** Rows of deliveries: parts of a request that a function set. */
async function resealDeliveries(db: Database, sealer: Sealer): Promise<Resealed> {
  const total = resealed('event_deliveries');
  const text = chunkOf('event_deliveries', 'function_request as old', 'old is not null');
  for (let after = ['', '']; ; ) {
    const rows = await db.query<SealedRow & { project_id: string }>(text, after);
    const last = rows.at(-1);
    if (last === undefined) return total;
    await reseal(db, total, rows, {
      ...keyed('event_deliveries', 'function_request'),
      fresh: (old, id) => {
        const sealed = Buffer.from(old, 'base64');
        if (sealer.isCurrent(sealed)) return null;
        const place = functionRequestPlace(id);
        return sealer.seal(sealer.open(sealed, place), place).toString('base64');
      },
    });
    after = [last.project_id, last.id];
  }
}

/**
 * A run of rows along the key, project by project: those of `where`, and the last one in any case, so that the next run
 * knows where to begin. A limit and no upper bound: that is read by the index whatever the planner takes the range for.
 */
const chunkOf = (table: string, names: string, where: string): string => `
with chunk as materialized (
  select project_id, id, ${names} from ${table} where (project_id, id) > ($1, $2)
  order by project_id, id limit ${CHUNK_KEYED_ROWS}
)
select * from chunk
where ${where} or (project_id, id) = (select project_id, id from chunk order by project_id desc, id desc limit 1)
order by project_id, id`;

const keyed = (table: string, column: string) => ({
  table,
  isRow: (row: string) => byKey('t.id', `${row}.id`),
  column,
  stored: (text: string) => text,
});

/** Opens and seals what can be opened, and stores it where nothing changed meanwhile. */
async function reseal(
  db: Database,
  total: Resealed,
  rows: readonly SealedRow[],
  { table, isRow, column, stored, fresh }: SealedColumn,
): Promise<void> {
  const changed = rows.flatMap(({ project_id: projectId = null, id, old }) => {
    try {
      const made = old === null ? null : fresh(old, id);
      return made === null ? [] : [{ projectId, id, old, made }];
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      total.failures.push(error.message);
      return [];
    }
  });
  if (changed.length === 0) return;
  const [result] = await db.query<{ count: number }>(
    `with locked as (
       select f.project_id, f.id, f.fresh
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as f(project_id, id, old, fresh)
       join ${table} t on ${isRow('f')} and t.${column} = ${stored('f.old')}
       for update of t skip locked
     ), done as (
       update ${table} t set ${column} = ${stored('l.fresh')} from locked l where ${isRow('l')} returning 1
     ) select count(*) from done`,
    [
      changed.map(({ projectId }) => projectId),
      changed.map(({ id }) => id),
      changed.map(({ old }) => old),
      changed.map(({ made }) => made),
    ],
  );
  const done = result?.count ?? 0;
  total.done += done;
  total.skipped += changed.length - done;
}
