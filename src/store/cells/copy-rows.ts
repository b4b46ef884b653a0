import pg from 'pg';
import { copyIn, copyOut } from '../backup/copy.ts';
import type { Database, Queryable } from '../database/database.ts';

/** Copies rows from one database to another by COPY, which keeps every value as it is. */
const SETTINGS =
  "set statement_timeout = 0; set lock_timeout = '30s'; set idle_in_transaction_session_timeout = '300s'; set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set extra_float_digits = 1; set bytea_output = hex; set jit = off";

/** A connection of its own: a transaction at a time, with COPY in it. */
export class CopySession implements Queryable {
  readonly client: pg.Client;

  private constructor(client: pg.Client) {
    this.client = client;
  }

  static async open(db: Database): Promise<CopySession> {
    const client = await db.copying();
    await client.query(SETTINGS);
    return new CopySession(client);
  }

  async query<R extends object>(text: string, values?: unknown[]): Promise<R[]> {
    return (await this.client.query(text, values)).rows as R[];
  }

  /** `begin` names the kind of transaction. After a failure the session is of no more use. */
  async transaction<T>(work: () => Promise<T>, begin = 'begin'): Promise<T> {
    await this.client.query(begin);
    const result = await work();
    await this.client.query('commit');
    return result;
  }

  async close(): Promise<void> {
    await this.client.end();
  }
}

/** The columns of a table in order, and those of its primary key. */
export interface TableShape {
  columns: readonly string[];
  key: readonly string[];
}

/** The shapes of all tables, without partitions. */
export async function readShapes(db: Queryable): Promise<Map<string, TableShape>> {
  const rows = await db.query<TableShape & { table: string }>(
    `select c.relname::text as table, array_agg(a.attname::text order by a.attnum) as columns,
       coalesce((select array_agg(k.attname::text) from pg_index i
          join pg_attribute k on k.attrelid = c.oid and k.attnum = any(i.indkey)
          where i.indrelid = c.oid and i.indisprimary), '{}') as key
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname !~ '_[0-9]{10}$' and a.attnum > 0 and not a.attisdropped
     group by c.oid, c.relname`,
  );
  return new Map(rows.map(({ table, columns, key }) => [table, { columns, key }]));
}

export interface Copied {
  table: string;
  shape: TableShape;
  /** SQL: which rows. Its values are literals, since COPY takes no parameters. */
  where: string;
  /** SQL of columns that do not travel as they are. */
  columns?: Readonly<Record<string, string>>;
  /** A row that is there already: it becomes the copied one, stays, or is a mistake. */
  known: 'replaced' | 'kept' | 'refused';
}

const id = (name: string): string => pg.escapeIdentifier(name);

/** In the transactions that both sessions have open. Returns the number of rows. */
export async function copyRows(
  { source, target }: { source: CopySession; target: CopySession },
  { table, shape, where, columns = {}, known }: Copied,
): Promise<number> {
  const names = shape.columns.map(id).join(', ');
  const values = shape.columns.map((name) => columns[name] ?? id(name)).join(', ');
  let count = 0;
  const rows = async function* () {
    const read = copyOut(source.client, `copy (select ${values} from ${id(table)} where ${where}) to stdout`);
    for await (const some of read) {
      count += some.count;
      yield some.bytes;
    }
  };
  if (known === 'refused') {
    await copyIn(target.client, `copy ${id(table)} (${names}) from stdin`, rows());
    return count;
  }
  const staged = id(`copied_${table}`);
  await target.query(`create temp table ${staged} (like ${id(table)}) on commit drop`);
  await copyIn(target.client, `copy ${staged} (${names}) from stdin`, rows());
  if (count > 0)
    await target.query(
      `insert into ${id(table)} (${names}) select ${names} from ${staged} ${onConflict(shape, known)}`,
    );
  await target.query(`drop table ${staged}`);
  return count;
}

function onConflict({ columns, key }: TableShape, known: 'replaced' | 'kept'): string {
  const set = columns
    .filter((name) => !key.includes(name))
    .map((name) => `${id(name)} = excluded.${id(name)}`);
  if (known === 'kept' || set.length === 0) return 'on conflict do nothing';
  return `on conflict (${key.map(id).join(', ')}) do update set ${set.join(', ')}`;
}

export const literal = (value: string): string => pg.escapeLiteral(value);
