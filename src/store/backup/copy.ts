import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type pg from 'pg';

/*
 * COPY over a connection of `pg`, which has the messages but no call for them, so our own query object
 * receives them. One COPY at a time on a connection. A caller that stops in the middle must close the
 * connection. Out: the socket is paused while more than MOST_WAITING_BYTES wait for the reader, so memory is
 * bounded for a slow reader. In: the writer waits for the socket to drain.
 */
const MOST_WAITING_BYTES = 1024 * 1024;

/** The messages of `pg`'s connection that its types omit. */
interface CopyConnection {
  readonly stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

class CopyQuery {
  readonly #text: string;
  readonly #ended = Promise.withResolvers<void>();
  #failure: Error | undefined;

  constructor(text: string) {
    this.#text = text;
    // A reader gets the failure later. A failure before that must not end the process.
    this.ended.catch(() => {});
  }

  /** Settles when the server has ended the statement, or the connection broke. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#text);
  }

  handleError(error: Error): void {
    this.#failure = error;
    this.#ended.reject(error);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#ended.resolve();
  }
}

class CopyOut extends CopyQuery {
  #rows: Buffer[] = [];
  #bytes = 0;
  #hasEnded = false;
  #connection: CopyConnection | undefined;
  #news = Promise.withResolvers<void>();

  handleCopyData({ chunk }: { chunk: Buffer }, connection: CopyConnection): void {
    // The parser reuses its buffer.
    this.#rows.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    this.#connection = connection;
    if (this.#bytes > MOST_WAITING_BYTES) connection.stream.pause();
    this.#news.resolve();
  }

  override handleError(error: Error): void {
    super.handleError(error);
    this.#end();
  }

  override handleReadyForQuery(): void {
    super.handleReadyForQuery();
    this.#end();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#news.resolve();
  }

  async *read(): AsyncGenerator<Rows> {
    for (let isLast = false; !isLast; ) {
      await this.#news.promise;
      this.#news = Promise.withResolvers();
      isLast = this.#hasEnded;
      const rows = this.#rows;
      this.#rows = [];
      this.#bytes = 0;
      this.#connection?.stream.resume();
      if (rows.length > 0) yield { count: rows.length, bytes: Buffer.concat(rows) };
    }
    await this.ended;
  }
}

class CopyIn extends CopyQuery {
  readonly #started = Promise.withResolvers<CopyConnection>();

  /** Rejects if the server refuses the statement. */
  get started(): Promise<CopyConnection> {
    return this.#started.promise;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#started.resolve(connection);
  }

  override handleError(error: Error): void {
    super.handleError(error);
    this.#started.reject(error);
  }
}

export interface Rows {
  readonly count: number;
  /** Whole lines in COPY's text format. */
  readonly bytes: Buffer;
}

/** `text` is a COPY ... TO STDOUT in text format. */
export function copyOut(client: pg.Client, text: string): AsyncGenerator<Rows> {
  return client.query(new CopyOut(text)).read();
}

/** `text` is a COPY ... FROM STDIN in text format. If the source fails, the statement fails with its error. */
export async function copyIn(client: pg.Client, text: string, source: AsyncIterable<Buffer>): Promise<void> {
  const copy = client.query(new CopyIn(text));
  const connection = await copy.started;
  try {
    for await (const chunk of source) {
      if (copy.failure !== undefined) break;
      connection.sendCopyFromChunk(chunk);
      if (connection.stream.writableNeedDrain)
        await Promise.race([once(connection.stream, 'drain'), copy.ended]);
    }
  } catch (error) {
    if (copy.failure !== undefined) throw copy.failure;
    connection.sendCopyFail('the source failed');
    await copy.ended.catch(() => {});
    throw error;
  }
  connection.endCopyFrom();
  await copy.ended;
}
