import type { ReceivedMessage } from '../module/broker-module.ts';
import { valueToJson } from './column-value.ts';
import type { Before, Relation, Value } from './pgoutput.ts';

/** Where a change is in the log of the database. */
export interface Place {
  key: string;
  lsn: bigint;
  /** Null: a row of a snapshot. */
  xid: number | null;
  committedAtMs: number;
}

export interface RowChange {
  op: 'insert' | 'update' | 'delete' | 'truncate' | 'read';
  relation: Relation;
  before: Before | null;
  after: Value[] | null;
}

const OPS = { insert: 'c', update: 'u', delete: 'd', truncate: 't', read: 'r' } as const;

/** `0/16B3748`, as PostgreSQL writes it. */
export const lsnText = (lsn: bigint): string =>
  `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffffffffn).toString(16).toUpperCase()}`;

export function parseLsn(text: string): bigint {
  const [high, low] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/**
 * A change as a message: the envelope of every broker, with data in the shape that Debezium gives it. Columns whose
 * value did not come along are named in `unavailable`, and are not in `after`.
 */
export function changeMessage(
  change: RowChange,
  place: Place,
  nowMs: number,
): ReceivedMessage & { key: string } {
  const { op, relation, before, after } = change;
  const { schema, table, columns } = relation;
  const kind = op === 'read' ? 'insert' : op;
  const type = `${schema}.${table}.${kind}`;
  const source = {
    schema,
    table,
    lsn: lsnText(place.lsn),
    txid: place.xid,
    ts_ms: place.committedAtMs,
    snapshot: op === 'read',
  };
  const unavailable = columns
    .filter((_, n) => after !== null && after[n] === undefined)
    .map(({ name }) => name);
  const data = [
    `"op":"${OPS[op]}"`,
    `"before":${before === null ? 'null' : rowToJson(relation, before.values, before.isKeyOnly)}`,
    `"after":${after === null ? 'null' : rowToJson(relation, after, false)}`,
    `"unavailable":${JSON.stringify(unavailable)}`,
    `"source":${JSON.stringify(source)}`,
    `"ts_ms":${nowMs}`,
  ];
  const body = Buffer.from(`{"event_type":${JSON.stringify(type)},"data":{${data.join(',')}}}`);
  return { key: place.key, body, headers: {}, id: place.key };
}

function rowToJson({ columns }: Relation, values: readonly Value[], isKeyOnly: boolean): string {
  const members = columns.flatMap(({ name, typeId, isKey }, n) => {
    const value = values[n];
    if (value === undefined || (isKeyOnly && !isKey)) return [];
    return [`${JSON.stringify(name)}:${value === null ? 'null' : valueToJson(value, typeId)}`];
  });
  return `{${members.join(',')}}`;
}
