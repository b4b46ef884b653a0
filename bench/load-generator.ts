import { connect, type Socket } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { answer } from './child.ts';
import { readMessages } from './http-message.ts';
import { PAYLOAD, RUN, sharedMicros, writeEvent, writeField } from './payload.ts';

/**
 * The load generator, in a process of its own. Each connection has one request in flight at a time and one
 * buffer for it, in which only digits change. Three modes:
 *   closed loop -> every connection sends again as soon as it gets a response;
 *   paced       -> `pauseMs` between a response and the next request of a connection;
 *   rate        -> requests are due at a fixed rate, independent of responses. Each is stamped with its due time, so
 *                  that a server that stalls is charged for the requests that waited.
 */
export interface Load {
  url: string;
  authorization: string;
  /** The event type to wrap the payload in for the events API. Absent: the payload alone. */
  eventType?: string;
  /** The number of event types, used in turn. Five digits below this number follow the name. */
  eventTypes?: number;
  /** The number of ordering keys, used in turn. Not together with `eventTypes`. */
  orderingKeys?: number;
  /** Delivery time of the events. */
  deliverAt?: string;
  /** Events in each request, for the call that takes many. Absent: one, for a call of its own. */
  batch?: number;
  run: number;
  connections: number;
  /** Ends after this time, or after this many events. */
  seconds?: number;
  count?: number;
  ratePerSecond?: number;
  pauseMs?: number;
}

export interface LoadResult {
  accepted: number;
  refused: number;
  /** The first refusal, for the report. */
  refusal: string;
  elapsedMs: number;
  ackP50Ms: number;
  ackP99Ms: number;
}

const TYPE_DIGITS = 5;
const STATUS_AT = 'HTTP/1.1 '.length;

class LoadRun {
  readonly #load: Load;
  readonly #prefix: Buffer;
  /** Positions of the payloads, from the start of the request. */
  readonly #payloadsAt: number[];
  /** Position of the digits of the type or the ordering key, from the start of the request. */
  readonly #typeAt: number;
  readonly #acks = createHistogram();
  readonly #sockets: Connection[] = [];
  readonly #startedMs = performance.now();
  readonly #startedMicros = sharedMicros();
  readonly #done = Promise.withResolvers<void>();
  #isStopped = false;
  #sent = 0;
  #answered = 0;
  #refused = 0;
  #refusal = '';

  constructor(load: Load) {
    this.#load = load;
    const { pathname, host } = new URL(load.url);
    const type =
      load.eventTypes === undefined ? load.eventType : `${load.eventType}${'0'.repeat(TYPE_DIGITS)}`;
    const key = load.orderingKeys === undefined ? '' : `","ordering_key":"${'0'.repeat(TYPE_DIGITS)}`;
    const later = load.deliverAt === undefined ? '' : `"deliver_at":"${load.deliverAt}",`;
    const { batch = 1 } = load;
    const kind = load.batch === undefined ? '' : '"kind":"broadcast",';
    const before = type === undefined ? '' : `{${kind}${later}"event_type":"${type}${key}","data":`;
    const event = `${before}${PAYLOAD}${load.eventType === undefined ? '' : '}'}`;
    const list = load.batch === undefined ? ['', ''] : ['{"events":[', ']}'];
    const body = list.join(Array.from({ length: batch }, () => event).join(','));
    const head = `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${load.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    this.#prefix = Buffer.from(head + body);
    const first = head.length + (list[0] as string).length + before.length;
    this.#payloadsAt = Array.from({ length: batch }, (_, n) => first + n * (event.length + 1));
    this.#typeAt = first - '","data":'.length - TYPE_DIGITS;
    for (const at of this.#payloadsAt) writeField(this.#prefix, at, RUN, load.run);
  }

  async result(): Promise<LoadResult> {
    const { connections } = this.#load;
    for (let i = 0; i < connections; i++) this.#sockets.push(await this.#open());
    if (this.#load.ratePerSecond === undefined) for (const socket of this.#sockets) this.#next(socket);
    else this.#keepRate(this.#load.ratePerSecond);
    await this.#done.promise;
    for (const { socket } of this.#sockets) socket.destroy();
    return {
      accepted: this.#answered - this.#refused,
      refused: this.#refused,
      refusal: this.#refusal,
      elapsedMs: performance.now() - this.#startedMs,
      ackP50Ms: this.#acks.percentile(50) / 1e3,
      ackP99Ms: this.#acks.percentile(99) / 1e3,
    };
  }

  async #open(): Promise<Connection> {
    const { hostname, port } = new URL(this.#load.url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    const connection: Connection = {
      socket,
      request: Buffer.from(this.#prefix),
      sentMicros: 0,
      isFree: true,
    };
    socket.on(
      'data',
      readMessages((buffer, at) => this.#onAnswer(connection, buffer, at)),
    );
    socket.on('error', (error) => this.#done.reject(error));
    socket.on('close', () => this.#done.reject(new Error('the server closed a connection under load')));
    return connection;
  }

  stop(): void {
    this.#isStopped = true;
  }

  #isOver(): boolean {
    if (this.#isStopped) return true;
    const { count, seconds } = this.#load;
    if (count !== undefined && this.#sent >= count) return true;
    return seconds !== undefined && performance.now() - this.#startedMs >= seconds * 1000;
  }

  #send(connection: Connection, dueMicros: number): void {
    const { request } = connection;
    const { eventTypes, orderingKeys = eventTypes } = this.#load;
    if (orderingKeys !== undefined)
      writeField(request, this.#typeAt, { at: 0, digits: TYPE_DIGITS }, this.#sent % orderingKeys);
    for (const at of this.#payloadsAt) writeEvent(request, at, { number: this.#sent++, dueMicros });
    connection.sentMicros = dueMicros;
    connection.isFree = false;
    connection.socket.write(request);
  }

  #next(connection: Connection): void {
    if (!this.#isOver()) this.#send(connection, sharedMicros());
    else if (this.#answered === this.#sent) this.#done.resolve();
  }

  #onAnswer(connection: Connection, buffer: Buffer, at: number): void {
    connection.isFree = true;
    const events = this.#payloadsAt.length;
    this.#answered += events;
    if (buffer[at + STATUS_AT] === 0x32) {
      this.#acks.record(Math.max(1, sharedMicros() - connection.sentMicros));
    } else {
      this.#refused += events;
      this.#refusal ||= buffer.toString('latin1', at, at + 1000);
    }
    if (this.#load.ratePerSecond !== undefined) return;
    const { pauseMs } = this.#load;
    if (pauseMs === undefined) this.#next(connection);
    else setTimeout(() => this.#next(connection), pauseMs);
  }

  #keepRate(ratePerSecond: number): void {
    const microsApart = 1e6 / ratePerSecond;
    let turn = 0;
    const timer = setInterval(() => {
      // Connections take turns. One that is idle for a minute is closed by the server.
      turn = (turn + 1) % this.#sockets.length;
      for (const connection of [...this.#sockets.slice(turn), ...this.#sockets.slice(0, turn)]) {
        const dueMicros = Math.floor(this.#startedMicros + this.#sent * microsApart);
        if (this.#isOver() || dueMicros > sharedMicros()) break;
        if (connection.isFree) this.#send(connection, dueMicros);
      }
      if (!this.#isOver() || this.#answered < this.#sent) return;
      clearInterval(timer);
      this.#done.resolve();
    }, 1);
  }
}

interface Connection {
  socket: Socket;
  request: Buffer;
  sentMicros: number;
  isFree: boolean;
}

let current: LoadRun | undefined;

answer({
  run: (load: Load) => {
    current = new LoadRun(load);
    return current.result();
  },
  /** The current run ends now. */
  stop: () => current?.stop(),
});
