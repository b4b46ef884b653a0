import pg from 'pg';
import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConnectContext } from '../module/broker-module.ts';
import { parseLsn } from './change-event.ts';
import { arrayToJson } from './column-value.ts';
import { type Connection, connect, type Row } from './connect.ts';
import { readTimelines, type Timeline } from './log-position.ts';

/** Questions to the database of a customer, on a connection for replication. */
export const literal = (text: string): string => pg.escapeLiteral(text);
export const identifier = (name: string): string => pg.escapeIdentifier(name);
/** Quotes `schema.table` for SQL. */
export function quotedTable(table: string): string {
  const dot = table.indexOf('.');
  return `${identifier(table.slice(0, dot))}.${identifier(table.slice(dot + 1))}`;
}
export const nameList = (text: string | null | undefined): string[] =>
  JSON.parse(arrayToJson(text ?? '{}', (name) => JSON.stringify(name)) ?? '[]') as string[];

export interface Identity {
  system: string;
  database: string;
  timelines: Timeline[];
  timeline: number;
  /** The end of its log. */
  lsn: bigint;
}

/** Connects, and refuses a database that must not be read. */
export async function connectForReplication(
  settings: ChangeStreamSettings,
  context: ConnectContext,
  name: string,
): Promise<{ connection: Connection; identity: Identity }> {
  const connection = await connect(settings, context, { isReplication: true, name });
  try {
    const identity = await identify(connection);
    const own = await context.streams.ownIdentity();
    if (own.system === identity.system && own.database === identity.database)
      throw new BrokerError('This is the database of the service itself, which cannot be a source.');
    const [server] = await connection.query(
      `select pg_is_in_recovery() as is_standby, current_setting('wal_level') as wal_level`,
    );
    // A connection outlives the promotion of a standby, and does not tell that the timeline is another one.
    if (server?.['is_standby'] === 't')
      throw new BrokerError('The database is a standby: name its primary in connection_url.');
    if (server?.['wal_level'] !== 'logical')
      throw new BrokerError(
        'The database does not write what replication needs: set wal_level to logical and restart it.',
      );
    return { connection, identity };
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function identify(connection: Connection): Promise<Identity> {
  const [system] = await connection.query('IDENTIFY_SYSTEM');
  const { systemid = null, dbname, xlogpos } = system ?? {};
  if (!/^\d{1,20}$/.test(systemid ?? '')) throw new Error('the server does not say which one it is');
  const timeline = Number(system?.['timeline']);
  const [file] = timeline > 1 ? await connection.query(`TIMELINE_HISTORY ${timeline}`) : [];
  return {
    system: systemid ?? '',
    database: dbname ?? '',
    timeline,
    timelines: readTimelines(timeline, file?.['content'] ?? '', parseLsn),
    lsn: parseLsn(xlogpos ?? '0/0'),
  };
}

export interface TableFacts {
  /** As `schema.table`. */
  name: string;
  /** Updates and deletes of a published table fail where it has none. */
  hasIdentity: boolean;
}

/** The facts of the tables that exist. */
async function readTables(connection: Connection, names: readonly string[]): Promise<TableFacts[]> {
  if (names.length === 0) return [];
  const rows = await connection.query(
    `select n.nspname || '.' || c.relname as name, c.relkind = 'p' or c.relreplident in ('f', 'i') or (
       c.relreplident = 'd' and exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)
     ) as has_identity
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and n.nspname || '.' || c.relname in (${names.map(literal).join(', ')})`,
  );
  return rows.map((row) => ({ name: row['name'] ?? '', hasIdentity: row['has_identity'] === 't' }));
}

/** @throws BrokerError where one of them does not exist */
export async function existingTables(
  connection: Connection,
  names: readonly string[],
): Promise<TableFacts[]> {
  const known = await readTables(connection, names);
  const missing = names.find((table) => !known.some(({ name }) => name === table));
  if (missing !== undefined) throw new BrokerError(`The table ${missing} does not exist.`);
  return known;
}

export interface PublishedTable {
  name: string;
  /** Null: all of them. */
  columns: string[] | null;
  rowFilter: string | null;
}

/** Null: there is no such publication. */
export async function readPublication(
  connection: Connection,
  name: string,
): Promise<PublishedTable[] | null> {
  const [known] = await connection.query(
    `select 1 as one from pg_publication where pubname = ${literal(name)}`,
  );
  if (known === undefined) return null;
  // Before PostgreSQL 15 there are no lists of columns and no filters.
  const rows = await connection.query(
    `select * from pg_publication_tables where pubname = ${literal(name)} order by schemaname, tablename`,
  );
  return rows.map((row) => ({
    name: `${row['schemaname']}.${row['tablename']}`,
    columns: row['attnames'] === undefined || row['attnames'] === null ? null : nameList(row['attnames']),
    rowFilter: row['rowfilter'] ?? null,
  }));
}

/** Undefined: there is no such slot. */
export async function readSlot(connection: Connection, name: string): Promise<Row | undefined> {
  const [row] = await connection.query(
    `select s.*, a.application_name from pg_replication_slots s left join pg_stat_activity a on a.pid = s.active_pid
     where s.slot_name = ${literal(name)}`,
  );
  return row;
}
