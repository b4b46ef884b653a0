import type { Socket } from 'node:net';

/**
 * Reads the messages of a COPY, of a table or of replication, from the socket of a connection:
 *   idle -> (start) started -> (the server agrees) copying -> (the server ends it) idle
 *
 * Bounded: the socket is not read while MAX_WAITING_BYTES wait to be taken, so the server has to wait. Of a message
 * over MAX_MESSAGE_BYTES only the beginning is kept. A socket that is not read can be written to: that keeps a
 * replication alive.
 */
export interface CopyMessage {
  data: Buffer;
  /** The message was longer: this is its beginning. */
  isCut: boolean;
}

const MAX_WAITING_BYTES = 1_048_576;
const MAX_MESSAGE_BYTES = 16 * 1_048_576;
const KEPT_BYTES = 65_536;
const HEAD_BYTES = 5;

/** An error that the server answered with. */
export class ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export class CopyStream {
  readonly #socket: Socket;
  #waiting: CopyMessage[] = [];
  #waitingBytes = 0;
  #news = Promise.withResolvers<void>();
  #started = Promise.withResolvers<void>();
  #isIdle = true;
  #isWoken = false;
  #failure: Error | null = null;
  /** The first bytes of the message that is being received. */
  #head = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #kept = 0;
  #missing = 0;
  #size = 0;

  /** Nothing may be under way on the connection. */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#started.promise.catch(() => undefined);
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
    socket.resume();
  }

  /** Sends the command. Resolves when the server agrees. */
  start(command: string): Promise<void> {
    this.#isIdle = false;
    this.#started = Promise.withResolvers();
    // `next` throws the same.
    this.#started.promise.catch(() => undefined);
    if (this.#failure === null) this.#send('Q', Buffer.from(`${command}\0`));
    else this.#started.reject(this.#failure);
    return this.#started.promise;
  }

  /** At least one message, unless `wake` was called. Null: the server ended the copy. */
  async next(): Promise<CopyMessage[] | null> {
    for (;;) {
      if (this.#waiting.length > 0) return this.#take();
      if (this.#failure !== null) throw this.#failure;
      if (this.#isIdle) return null;
      if (this.#isWoken) {
        this.#isWoken = false;
        return [];
      }
      await this.#news.promise;
    }
  }

  /** The next `next`, or the one that waits, returns at once. */
  wake(): void {
    this.#isWoken = true;
    this.#tell();
  }

  /** To the server, inside of a replication. */
  write(data: Buffer): void {
    if (this.#failure === null) this.#send('d', data);
  }

  #take(): CopyMessage[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#socket.isPaused()) this.#socket.resume();
    return taken;
  }

  #send(type: string, body: Buffer): void {
    const head = Buffer.alloc(HEAD_BYTES);
    head.write(type, 0, 'latin1');
    head.writeInt32BE(body.length + 4, 1);
    this.#socket.write(Buffer.concat([head, body]));
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#started.reject(this.#failure);
    this.#tell();
  }

  #receive(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) rest = this.#missing > 0 ? this.#readBody(rest) : this.#readHead(rest);
    if (this.#waitingBytes >= MAX_WAITING_BYTES) this.#socket.pause();
  }

  #readHead(chunk: Buffer): Buffer {
    const wanted = HEAD_BYTES - this.#head.length;
    this.#head = Buffer.concat([this.#head, chunk.subarray(0, wanted)]);
    if (this.#head.length < HEAD_BYTES) return Buffer.alloc(0);
    this.#size = this.#head.readInt32BE(1) - 4;
    if (this.#size < 0) {
      this.#socket.destroy(new Error('the server does not keep to the protocol'));
      return Buffer.alloc(0);
    }
    this.#missing = this.#size;
    if (this.#size === 0) this.#complete();
    return chunk.subarray(wanted);
  }

  #readBody(chunk: Buffer): Buffer {
    const part = chunk.subarray(0, this.#missing);
    this.#missing -= part.length;
    const most = this.#size > MAX_MESSAGE_BYTES ? KEPT_BYTES : this.#size;
    const kept = part.subarray(0, most - this.#kept);
    if (kept.length > 0) this.#parts.push(kept);
    this.#kept += kept.length;
    if (this.#missing === 0) this.#complete();
    return chunk.subarray(part.length);
  }

  #complete(): void {
    const type = this.#head.toString('latin1', 0, 1);
    // Copied: a small part of a chunk would keep the whole chunk in memory.
    const data = Buffer.concat(this.#parts);
    this.#head = Buffer.alloc(0);
    this.#parts = [];
    this.#kept = 0;
    if (type === 'd') {
      this.#waiting.push({ data, isCut: data.length < this.#size });
      this.#waitingBytes += data.length;
      this.#tell();
    } else if (type === 'W' || type === 'H') {
      this.#started.resolve();
    } else if (type === 'E') {
      this.#fail(errorOf(data));
    } else if (type === 'Z') {
      this.#isIdle = true;
      this.#tell();
    }
  }
}

/** Fields, each with a letter before and a zero byte behind it. */
export function errorOf(data: Buffer): ServerError {
  const fields = new Map(
    data
      .toString()
      .split('\0')
      .filter((field) => field !== '')
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  );
  return new ServerError(fields.get('C') ?? '', fields.get('M') ?? 'the server answered with an error');
}
