import type { Sealer } from '../../platform/sealer.ts';
import type { Database } from '../database/database.ts';
import { attempt, type Resealed, replace } from './replace-sealed.ts';
import { resealDeliveries, resealEvents } from './reseal-rows.ts';

/**
 * Reseals, with the current key, every value that another key has sealed: table by table, in chunks in order
 * of id. It is idempotent, so it may be killed and run again, or run twice at once. A row changes only if it
 * still has the value that was read. A locked row is left for the next round, so no node ever waits for this.
 * Versions and times of rows do not change, because nodes have both keys.
 */
const CHUNK_ROWS = 200;

interface SealedColumn {
  table: string;
  id: string;
  column: string;
  place(id: string): string;
}

const columns: readonly SealedColumn[] = [
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
