import { PackedBytes, plainArray } from './packed-bytes.ts';

/**
 * The parameters of a statement that takes whole batches. Each is declared once, with its type and where its value
 * comes from; numbers, casts and the order of the values follow. The text of a statement is built from this at load and
 * stays constant, so that it can be prepared under a name.
 *
 * Rows go as one array per column, which costs the server one parse per column and not per value. Texts that need no
 * quoting (`id`) and numbers are joined by hand: that is half the CPU of the driver's own escaping. All `bytes` columns
 * of a batch share one buffer (packed-bytes.ts).
 */
export type Column<Row> =
  /** `id`: ids and other words that need no quoting; `text`: any text. */
  | readonly [name: string, type: 'id' | 'text', of: (row: Row) => string | null]
  | readonly [name: string, type: 'int' | 'bigint' | 'float8', of: (row: Row) => number | null]
  | readonly [name: string, type: 'bool', of: (row: Row) => boolean | null]
  /** Milliseconds since 1970, stored as a timestamp. */
  | readonly [name: string, type: 'time', of: (row: Row) => number | null]
  | readonly [name: string, type: 'ids', of: (row: Row) => readonly string[]]
  | readonly [name: string, type: 'bytes' | 'packed text', of: (row: Row) => Buffer | string | null];

const ARRAY_TYPES = {
  id: 'text[]',
  text: 'text[]',
  int: 'int[]',
  bigint: 'bigint[]',
  float8: 'float8[]',
  bool: 'bool[]',
  time: 'float8[]',
  ids: 'text[]',
  bytes: undefined,
  'packed text': undefined,
} as const;

export class Parameters<Batch> {
  readonly #values: ((batch: Batch) => unknown[])[] = [];
  #count = 0;

  /** The place of one value. */
  one(type: string, of: (batch: Batch) => unknown): string {
    this.#values.push((batch) => [of(batch)]);
    return this.#place(type);
  }

  rows<Row>(of: (batch: Batch) => readonly Row[], columns: readonly Column<Row>[]): Rows {
    const isPacked = ([, type]: Column<Row>) => ARRAY_TYPES[type] === undefined;
    const [packed, plain] = [columns.filter(isPacked), columns.filter((column) => !isPacked(column))];
    const places = new Map<string, string>();
    for (const [name, type] of plain) places.set(name, this.#place(ARRAY_TYPES[type] as string));
    const bytes = packed.length === 0 ? '' : this.#place('bytea');
    for (const [name] of packed) {
      places.set(`${name}_from`, this.#place('int[]'));
      places.set(`${name}_length`, this.#place('int[]'));
    }
    this.#values.push((batch) => {
      const rows = of(batch);
      const values = plain.map((column) => arrayOf(column, rows));
      return packed.length === 0 ? values : [...values, ...packedValues(packed, rows)];
    });
    return new Rows(columns, places, bytes);
  }

  /** In the order of the places. */
  values(batch: Batch): unknown[] {
    return this.#values.flatMap((values) => values(batch));
  }

  #place(type: string): string {
    this.#count += 1;
    return `$${this.#count}::${type}`;
  }
}

/** Rows of a batch, as the text of a statement names them. `only`: some of the columns, all if it is left out. */
export class Rows {
  readonly #columns: readonly Column<never>[];
  readonly #places: ReadonlyMap<string, string>;
  readonly #bytes: string;

  constructor(columns: readonly Column<never>[], places: ReadonlyMap<string, string>, bytes: string) {
    this.#columns = columns;
    this.#places = places;
    this.#bytes = bytes;
  }

  /** The text after `from`. */
  as(alias: string, only?: readonly string[]): string {
    const names = this.#unnested(only);
    return `unnest(${this.#listed(names)}) as ${alias}(${names.join(', ')})`;
  }

  /** The text after `from`, with a column that counts the rows from 1. */
  numbered(alias: string, counter: string, only?: readonly string[]): string {
    const names = this.#unnested(only);
    return `unnest(${this.#listed(names)}) with ordinality as ${alias}(${names.join(', ')}, ${counter})`;
  }

  /** The columns of the table, for `insert into`. */
  names(only?: readonly string[]): string {
    return this.#only(only)
      .map(([name]) => name)
      .join(', ');
  }

  /** The values of those columns, in the same order: the value itself, or the given expression. */
  stored(expressions: Readonly<Record<string, string>> = {}, only?: readonly string[]): string {
    return this.#only(only)
      .map(([name]) => expressions[name] ?? this.value(name))
      .join(', ');
  }

  /** A value as the column of a table takes it; with the alias where other rows have columns of that name. */
  value(name: string, alias?: string): string {
    const [[, type]] = this.#only([name]) as [Column<never>];
    const column = alias === undefined ? name : `${alias}.${name}`;
    if (type === 'time') return `to_timestamp(${column} / 1000)`;
    if (type === 'ids') return `${column}::text[]`;
    if (type !== 'bytes' && type !== 'packed text') return column;
    const cut = `substring(${this.#bytes} from ${column}_from for ${column}_length)`;
    return `case when ${column}_length >= 0 then ${type === 'bytes' ? cut : `convert_from(${cut}, 'UTF8')`} end`;
  }

  #unnested(only: readonly string[] | undefined): string[] {
    return this.#only(only).flatMap(([name]) =>
      this.#places.has(name) ? name : [`${name}_from`, `${name}_length`],
    );
  }

  #listed(names: readonly string[]): string {
    return names.map((name) => this.#places.get(name)).join(', ');
  }

  #only(names: readonly string[] | undefined): readonly Column<never>[] {
    if (names === undefined) return this.#columns;
    return names.map((name) => {
      const column = this.#columns.find(([of]) => of === name);
      if (column === undefined) throw new Error(`no column ${name}`);
      return column;
    });
  }
}

function arrayOf<Row>([, type, of]: Column<Row>, rows: readonly Row[]): unknown {
  if (type === 'text') return rows.map(of);
  if (type === 'ids') return rows.map((row) => plainArray(of(row)));
  return plainArray(rows.map(of as (row: Row) => string | number | boolean | null));
}

function packedValues<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): unknown[] {
  const packed = new PackedBytes();
  for (const [, , of] of columns) for (const row of rows) packed.add(of(row) as Buffer | string | null);
  const part = (numbers: number[], column: number) =>
    plainArray(numbers.slice(column * rows.length, (column + 1) * rows.length));
  return [
    packed.bytes(),
    ...columns.flatMap((_, column) => [part(packed.offsets, column), part(packed.lengths, column)]),
  ];
}

/** The names of columns, where they are a part of those of a statement. */
export function namesOf<Row>(columns: readonly Column<Row>[]): string[] {
  return columns.map(([name]) => name);
}
