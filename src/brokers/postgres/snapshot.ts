import { randomBytes } from 'node:crypto';
import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConsumerContext, ReceivedMessage } from '../module/broker-module.ts';
import { changeMessage, parseLsn } from './change-event.ts';
import { Lot } from './change-lot.ts';
import { type Connection, connect } from './connect.ts';
import { type CopyMessage, CopyStream } from './copy-stream.ts';
import { identifier, literal, nameList, type PublishedTable, quotedTable } from './customer-database.ts';
import type { Column, Value } from './pgoutput.ts';
import { connectionName, type PreparedSlot } from './prepare-slot.ts';

/**
 * The rows that are in the tables, as events, in rounds. A round looks at the database as it was at one place of its
 * log, the cut: PostgreSQL gives such a view with each new slot, so a round makes a temporary one. The stream is read up
 * to the cut, then the round reads rows in the order of the primary key, then the stream goes on. So what is read is
 * neither older than a change that came before it nor newer than one that comes after it.
 *
 * A round lasts ROUND_MS at most: the database can clean up behind it, and changes do not wait long. The place in the
 * table is stored with the rows, so the next round, on whatever node, goes on there.
 */
const ROUND_MS = 30_000;
/** For transactions that are open. The stream stands still meanwhile. */
const WAIT_MS = 3_000;
const CHUNK_ROWS = 2_000;
const SEQUENCE_DIGITS = 16;
/** After every number: the table is read. */
const DONE = '~';

/** Null: all the tables are read. */
export async function prepareRound(
  settings: ChangeStreamSettings,
  context: ConsumerContext,
  slot: PreparedSlot,
): Promise<Round | null> {
  const todo = await unreadTables(context, slot);
  if (todo.length === 0) return null;
  const options = { name: connectionName(context.source.id) };
  const exporter = await connect(settings, context, { ...options, isReplication: true });
  let connection: Connection | undefined;
  try {
    await exporter.query(`set lock_timeout = ${WAIT_MS}`);
    const name = `posthorn_${randomBytes(8).toString('hex')}`;
    const [view] = await exporter.query(
      `CREATE_REPLICATION_SLOT ${name} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT`,
    );
    connection = await connect(settings, context, { ...options, isReplication: false });
    await connection.query('begin isolation level repeatable read, read only');
    await connection.query(`set transaction snapshot ${literal(view?.['snapshot_name'] ?? '')}`);
    const tables: SnapshotTable[] = [];
    for (const one of todo) tables.push(await describe(connection, one));
    return new Round(parseLsn(view?.['consistent_point'] ?? ''), tables, { connection, context });
  } catch (error) {
    connection?.close();
    throw error;
  } finally {
    exporter.close();
  }
}

async function unreadTables(
  { streams, source }: ConsumerContext,
  { row, stream, tables }: PreparedSlot,
): Promise<Unread[]> {
  const unread: Unread[] = [];
  for (const table of tables) {
    const name = `${stream}/snapshot/${row.generation}/${table.name}`;
    const position = await streams.position({ sourceId: source.id, stream: name });
    if (position !== DONE) unread.push({ table, stream: name, position });
  }
  return unread;
}

interface Unread {
  table: PublishedTable;
  stream: string;
  position: string;
}

interface SnapshotTable extends Unread {
  columns: Column[];
  keys: string[];
}

async function describe(connection: Connection, unread: Unread): Promise<SnapshotTable> {
  const { table } = unread;
  const [facts] = await connection.query(
    `select array_agg(a.attname order by a.attnum)::text as names, array_agg(a.atttypid order by a.attnum)::text as types,
       (select array_agg(k.attname order by i.n)::text from pg_index x
          cross join unnest(x.indkey) with ordinality as i(attnum, n)
          join pg_attribute k on k.attrelid = x.indrelid and k.attnum = i.attnum
        where x.indrelid = a.attrelid and x.indisprimary) as keys
     from pg_attribute a
     where a.attrelid = ${literal(quotedTable(table.name))}::regclass and a.attnum > 0 and not a.attisdropped
       and ${table.columns === null ? "a.attgenerated = ''" : `a.attname in (${table.columns.map(literal).join(', ')})`}
     group by a.attrelid`,
  );
  const keys = nameList(facts?.['keys']);
  if (keys.length === 0)
    throw new BrokerError(`The table ${table.name} has no primary key, which a snapshot needs.`);
  const types = nameList(facts?.['types']);
  const columns = nameList(facts?.['names']).map((name, n) => ({
    name,
    typeId: Number(types[n]),
    isKey: keys.includes(name),
  }));
  return { ...unread, columns, keys };
}

/** One look at the tables. */
export class Round {
  readonly cut: bigint;
  readonly #tables: SnapshotTable[];
  readonly #connection: Connection;
  readonly #context: ConsumerContext;
  readonly #copy: CopyStream;

  constructor(
    cut: bigint,
    tables: SnapshotTable[],
    { connection, context }: { connection: Connection; context: ConsumerContext },
  ) {
    this.cut = cut;
    this.#tables = tables;
    this.#connection = connection;
    this.#context = context;
    this.#copy = new CopyStream(connection.takeSocket());
  }

  /** Reads until all is read or the time is over. */
  async read(): Promise<void> {
    const deadline = performance.now() + ROUND_MS;
    try {
      for (const table of this.#tables) if (!(await this.#readTable(table, deadline))) return;
    } finally {
      this.#connection.close();
    }
  }

  close(): void {
    this.#connection.close();
  }

  /** False: the time is over. */
  async #readTable(table: SnapshotTable, deadline: number): Promise<boolean> {
    const { source, streams } = this.#context;
    let { position } = table;
    for (;;) {
      await this.#copy.start(chunkQuery(table, position));
      let rows = 0;
      for (let some = await this.#copy.next(); some !== null; some = await this.#copy.next()) {
        const stored = await this.#store(table, some, position);
        rows += some.length;
        position = stored;
        if (performance.now() > deadline) return false;
      }
      if (rows < CHUNK_ROWS) break;
    }
    await streams.setPosition(
      { sourceId: source.id, stream: table.stream, projectId: source.projectId },
      DONE,
    );
    return true;
  }

  /** The position after the rows. */
  async #store(table: SnapshotTable, rows: readonly CopyMessage[], position: string): Promise<string> {
    const part = { stream: table.stream, order: 'ordered' as const };
    const lot = new Lot((messages) => this.#context.store(part, messages));
    let last = position;
    for (const row of rows) {
      const message = this.#message(table, row, sequenceOf(last) + 1);
      last = message.key;
      await lot.add(message);
    }
    await lot.store();
    return last;
  }

  /** The columns of the key come first, once more: they are there even where the rest of the row is too long. */
  #message(
    { table, columns, keys }: SnapshotTable,
    row: CopyMessage,
    sequence: number,
  ): ReceivedMessage & { key: string } {
    const values = readCopyLine(row);
    const cursor = JSON.stringify(values.slice(0, keys.length));
    const after = columns.map((_, n) => values[keys.length + n]);
    const dot = table.name.indexOf('.');
    const relation = { schema: table.name.slice(0, dot), table: table.name.slice(dot + 1), columns };
    const nowMs = Math.floor(this.#context.clock.now());
    return changeMessage(
      { op: 'read', relation, before: null, after },
      {
        key: `${String(sequence).padStart(SEQUENCE_DIGITS, '0')}/${cursor}`,
        lsn: this.cut,
        xid: null,
        committedAtMs: nowMs,
      },
      nowMs,
    );
  }
}

const sequenceOf = (position: string): number => Number(position.slice(0, SEQUENCE_DIGITS));

function chunkQuery({ table, columns, keys }: SnapshotTable, position: string): string {
  const list = [...keys, ...columns.map(({ name }) => name)].map(identifier).join(', ');
  const key = keys.map(identifier).join(', ');
  const after = position === '' ? [] : (JSON.parse(position.slice(SEQUENCE_DIGITS + 1)) as string[]);
  const conditions = [
    ...(after.length === 0 ? [] : [`(${key}) > (${after.map(literal).join(', ')})`]),
    ...(table.rowFilter === null ? [] : [table.rowFilter]),
  ];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return `copy (select ${list} from ${quotedTable(table.name)} ${where} order by ${key} limit ${CHUNK_ROWS}) to stdout`;
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** A line of COPY's text format. The last value of a line that was cut is not whole. */
export function readCopyLine({ data, isCut }: CopyMessage): Value[] {
  const line = data.toString();
  const fields = line.slice(0, line.endsWith('\n') ? -1 : undefined).split('\t');
  const values = fields.map((field) =>
    field === '\\N' ? null : field.replace(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter),
  );
  return isCut ? values.slice(0, -1) : values;
}
