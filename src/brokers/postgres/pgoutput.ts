/**
 * The messages of PostgreSQL's own output plugin, version 1 of its protocol: `begin`, the rows that a transaction
 * changed in the order of its statements, `commit`. Transactions come whole, in the order of their commits. A relation
 * comes before the first row of it, and again when its columns change.
 */
export interface Column {
  name: string;
  typeId: number;
  /** Part of the replica identity, by which a row is known. */
  isKey: boolean;
}

export interface Relation {
  schema: string;
  table: string;
  columns: Column[];
}

/** The text of a value. Undefined: it did not change, is stored apart and was not sent. */
export type Value = string | null | undefined;

export type Decoded =
  | { kind: 'begin'; commitLsn: bigint; committedAtMs: number; xid: number }
  | { kind: 'commit'; endLsn: bigint }
  | {
      kind: 'row';
      op: 'insert' | 'update' | 'delete';
      relation: Relation;
      before: Before | null;
      after: Value[] | null;
    }
  | { kind: 'truncate'; relations: Relation[] }
  | { kind: 'other' };

export interface Before {
  /** Only the columns of the replica identity. */
  isKeyOnly: boolean;
  values: Value[];
}

/** 2000-01-01, from which the server counts microseconds. */
const EPOCH_MS = 946_684_800_000;
export const serverTimeMs = (micros: bigint): number => Number(micros / 1000n) + EPOCH_MS;

const ROWS = { I: 'insert', U: 'update', D: 'delete' } as const;

export class PgoutputDecoder {
  readonly #relations = new Map<number, Relation>();

  /** `isCut`: the end of the message is missing. Its values count as not sent. */
  decode(data: Buffer, isCut = false): Decoded {
    const reader = new Reader(data, isCut);
    const type = reader.letter();
    switch (type) {
      case 'B': {
        const commitLsn = reader.int64();
        const committedAtMs = serverTimeMs(reader.int64());
        return { kind: 'begin', commitLsn, committedAtMs, xid: reader.int32() >>> 0 };
      }
      case 'C': {
        reader.skip(1 + 8);
        return { kind: 'commit', endLsn: reader.int64() };
      }
      case 'R': {
        this.#relations.set(reader.int32(), readRelation(reader));
        return { kind: 'other' };
      }
      case 'I':
      case 'U':
      case 'D':
        return this.#row(ROWS[type], reader);
      case 'T': {
        const count = reader.int32();
        reader.skip(1);
        return { kind: 'truncate', relations: Array.from({ length: count }, () => this.#relation(reader)) };
      }
      default:
        return { kind: 'other' };
    }
  }

  #row(op: 'insert' | 'update' | 'delete', reader: Reader): Decoded {
    const relation = this.#relation(reader);
    let before: Before | null = null;
    let after: Value[] | null = null;
    while (!reader.isAtEnd) {
      const part = reader.letter();
      const values = readTuple(reader, relation.columns.length);
      if (part === 'N') after = values;
      else before = { isKeyOnly: part === 'K', values };
    }
    // A column that did not change has its value of before, if the server sent the whole old row.
    if (after !== null && before?.isKeyOnly === false)
      after = after.map((value, n) => (value === undefined ? before?.values[n] : value));
    return { kind: 'row', op, relation, before, after };
  }

  #relation(reader: Reader): Relation {
    const relation = this.#relations.get(reader.int32());
    if (relation === undefined) throw new Error('the server sent a row of a table that it did not describe');
    return relation;
  }
}

function readRelation(reader: Reader): Relation {
  const schema = reader.text() || 'pg_catalog';
  const table = reader.text();
  reader.skip(1);
  const count = reader.int16();
  const columns = Array.from({ length: count }, () => {
    const isKey = (reader.int8() & 1) === 1;
    const name = reader.text();
    const typeId = reader.int32() >>> 0;
    reader.skip(4);
    return { name, typeId, isKey };
  });
  return { schema, table, columns };
}

function readTuple(reader: Reader, columns: number): Value[] {
  const count = reader.int16();
  const values: Value[] = Array.from({ length: Math.max(count, columns) }, () => undefined);
  for (let n = 0; n < count && !reader.isAtEnd; n++) {
    const kind = reader.letter();
    if (kind === 'n') values[n] = null;
    else if (kind === 't') values[n] = reader.value();
  }
  return values;
}

class Reader {
  readonly #data: Buffer;
  readonly #isCut: boolean;
  #at = 0;

  constructor(data: Buffer, isCut: boolean) {
    this.#data = data;
    this.#isCut = isCut;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#data.length;
  }

  letter(): string {
    return String.fromCharCode(this.int8());
  }

  int8(): number {
    return this.#data.readUInt8(this.#move(1));
  }

  int16(): number {
    return this.#data.readUInt16BE(this.#move(2));
  }

  int32(): number {
    return this.#data.readInt32BE(this.#move(4));
  }

  int64(): bigint {
    return this.#data.readBigUInt64BE(this.#move(8));
  }

  text(): string {
    const end = this.#data.indexOf(0, this.#at);
    const text = this.#data.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return text;
  }

  /** A value with its length before it. Undefined: its end is missing, and so is all that follows. */
  value(): Value {
    const isWhole = this.#data.length - this.#at >= 4;
    const length = isWhole ? this.int32() : Number.POSITIVE_INFINITY;
    if (this.#isCut && this.#at + length > this.#data.length) {
      this.#at = this.#data.length;
      return undefined;
    }
    const from = this.#move(length);
    return this.#data.toString('utf8', from, from + length);
  }

  skip(bytes: number): void {
    this.#move(bytes);
  }

  #move(bytes: number): number {
    const from = this.#at;
    this.#at += bytes;
    return from;
  }
}
