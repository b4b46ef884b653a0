import { createHash } from 'node:crypto';
import { StartupError } from '../../platform/startup-error.ts';
import {
  type BackupHeader,
  type BackupTrailer,
  END_OF_TABLE,
  FORMAT,
  type TableLine,
} from './backup-header.ts';

/*
 * Reads the lines of a backup in order: header, then each table's line and its rows, then the trailer. Its
 * content is untrusted until the trailer is read and its hash compared. `tables` ends only then, or throws.
 * Rows are passed on as received, cut anywhere. `#pending` has the bytes that were read and not yet returned.
 * While rows are read its last bytes stay there, since they may begin the end mark.
 */
const MARK = Buffer.from(END_OF_TABLE);
const MARK_AFTER_ROW = Buffer.from(`\n${END_OF_TABLE}`);
const LINE_BREAK = 10;
/** A longer line is not a header. */
const MOST_LINE_BYTES = 16 * 1024 * 1024;

export interface BackupTable extends TableLine {
  /** Must be read to its end before the next table. */
  readonly rows: AsyncGenerator<Buffer>;
}

export class BackupReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  #pending: Buffer = Buffer.alloc(0);
  #rowCount = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The number of rows, known at the end. */
  get rowCount(): number {
    return this.#rowCount;
  }

  async header(): Promise<BackupHeader> {
    const line = await this.#line();
    const header = parse(line) as Partial<BackupHeader> | undefined;
    if (header?.posthorn_backup === undefined) throw new StartupError('this is not a backup of Posthorn');
    if (header.posthorn_backup > FORMAT)
      throw new StartupError(
        `the backup was made by Posthorn ${header.version}, which is newer: update Posthorn`,
      );
    this.#hash.update(line);
    return header as BackupHeader;
  }

  async *tables(): AsyncGenerator<BackupTable> {
    for (;;) {
      const line = await this.#line();
      const said = parse(line) as TableLine | BackupTrailer | undefined;
      if (said === undefined) throw damaged('a line cannot be read');
      if ('sha256' in said) {
        if (said.sha256 !== this.#hash.digest('hex')) throw damaged('its checksum is wrong');
        this.#rowCount = Object.values(said.rows).reduce((sum, count) => sum + count, 0);
        return;
      }
      this.#hash.update(line);
      yield { ...said, rows: this.#rows() };
    }
  }

  async *#rows(): AsyncGenerator<Buffer> {
    for (let isFirst = true; ; ) {
      const isEmpty = isFirst && this.#pending.subarray(0, MARK.length).equals(MARK);
      const lastRow = isEmpty ? -1 : this.#pending.indexOf(MARK_AFTER_ROW);
      if (isEmpty || lastRow >= 0) {
        const rows = this.#take(lastRow + 1);
        this.#take(MARK.length);
        if (rows.length > 0) yield rows;
        return;
      }
      if (this.#pending.length >= MARK_AFTER_ROW.length) {
        isFirst = false;
        yield this.#take(this.#pending.length - MARK.length);
      }
      await this.#more();
    }
  }

  /** A whole line, not hashed yet. */
  async #line(): Promise<Buffer> {
    for (;;) {
      const end = this.#pending.indexOf(LINE_BREAK);
      if (end >= 0) {
        const line = this.#pending.subarray(0, end + 1);
        this.#pending = this.#pending.subarray(end + 1);
        return line;
      }
      if (this.#pending.length > MOST_LINE_BYTES) throw damaged('a line does not end');
      await this.#more();
    }
  }

  #take(bytes: number): Buffer {
    const taken = this.#pending.subarray(0, bytes);
    this.#pending = this.#pending.subarray(bytes);
    this.#hash.update(taken);
    return taken;
  }

  async #more(): Promise<void> {
    const next = await this.#source.next();
    if (next.done === true) throw damaged('it ends too early');
    this.#pending = Buffer.concat([this.#pending, next.value]);
  }
}

export function damaged(reason: string): StartupError {
  return new StartupError(`the backup is damaged (${reason}): use another one`);
}

function parse(line: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
