import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { answer } from './child.ts';
import { readMessages } from './http-message.ts';
import { NUMBER, RUN, readField, SENT, sharedMicros } from './payload.ts';

/**
 * The receiver of deliveries, in a process of its own. It counts each event of the current run by its number,
 * so that lost and duplicate ones are known exactly, and measures the time from publish to here. By path:
 *   /ok     -> 200 at once;
 *   /flaky  -> 500 the first time an event arrives, 200 after, and how late the second attempt was against a second;
 *   /hang   -> never answered, not counted.
 */
export interface SinkReport {
  received: number;
  distinct: number;
  /** Events of other runs. */
  strays: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** By the time at which events were due, from the first one on. */
  slices: Slice[];
  lateP50Ms: number;
  lateP99Ms: number;
  hanging: number;
}

export interface Slice {
  received: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

export interface Run {
  run: number;
  sliceSeconds: number;
}

const RETRY_AFTER_MICROS = 1e6;
const PATH_AT = 'POST /'.length;
const FLAKY = 'f'.charCodeAt(0);
const HANG = 'h'.charCodeAt(0);
const OK = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
// Waits of a policy have jitter. One that a receiver asks for has none, so that lateness can be measured against it.
const FAILED = Buffer.from(
  'HTTP/1.1 500 Internal Server Error\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n',
);

class Tally {
  readonly #run: number;
  readonly #sliceMicros: number;
  readonly #slices: RecordableHistogram[] = [];
  #firstSent = 0;
  readonly #latency = createHistogram();
  readonly #lateness = createHistogram();
  readonly failedAt = new Map<number, number>();
  #seen = new Uint8Array(1 << 16);
  #received = 0;
  #distinct = 0;
  #strays = 0;
  hanging = 0;

  constructor({ run, sliceSeconds }: Run) {
    this.#run = run;
    this.#sliceMicros = sliceSeconds * 1e6;
  }

  count(buffer: Buffer, bodyAt: number): number {
    if (readField(buffer, bodyAt, RUN) !== this.#run) {
      this.#strays += 1;
      return -1;
    }
    const number = readField(buffer, bodyAt, NUMBER);
    if (number >= this.#seen.length) {
      const larger = new Uint8Array(Math.max(number + 1, this.#seen.length * 2));
      larger.set(this.#seen);
      this.#seen = larger;
    }
    this.#received += 1;
    if (this.#seen[number] === 0) this.#distinct += 1;
    this.#seen[number] = 1;
    const sent = readField(buffer, bodyAt, SENT);
    const micros = Math.max(1, sharedMicros() - sent);
    this.#latency.record(micros);
    this.#sliceOf(sent).record(micros);
    return number;
  }

  #sliceOf(sent: number): RecordableHistogram {
    this.#firstSent ||= sent;
    const at = Math.max(0, Math.floor((sent - this.#firstSent) / this.#sliceMicros));
    while (this.#slices.length <= at) this.#slices.push(createHistogram());
    return this.#slices[at] as RecordableHistogram;
  }

  late(number: number): void {
    const failedAt = this.failedAt.get(number) as number;
    this.#lateness.record(Math.max(1, sharedMicros() - failedAt - RETRY_AFTER_MICROS));
  }

  report(): SinkReport {
    const ms = (histogram: RecordableHistogram, share: number) => histogram.percentile(share) / 1e3;
    const slice = (histogram: RecordableHistogram): Slice => ({
      received: histogram.count,
      p50Ms: ms(histogram, 50),
      p99Ms: ms(histogram, 99),
      maxMs: histogram.count === 0 ? 0 : histogram.max / 1e3,
    });
    return {
      ...slice(this.#latency),
      received: this.#received,
      distinct: this.#distinct,
      strays: this.#strays,
      slices: this.#slices.map(slice),
      lateP50Ms: ms(this.#lateness, 50),
      lateP99Ms: ms(this.#lateness, 99),
      hanging: this.hanging,
    };
  }
}

let tally = new Tally({ run: 0, sliceSeconds: 60 });

function onRequest(socket: Socket, request: { buffer: Buffer; at: number; bodyAt: number }): void {
  const { buffer, at, bodyAt } = request;
  const kind = buffer[at + PATH_AT];
  if (kind === HANG) {
    tally.hanging += 1;
    return;
  }
  const number = tally.count(buffer, bodyAt);
  if (kind !== FLAKY) {
    socket.write(OK);
  } else if (tally.failedAt.has(number)) {
    tally.late(number);
    socket.write(OK);
  } else {
    tally.failedAt.set(number, sharedMicros());
    socket.write(FAILED);
  }
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on(
    'data',
    readMessages((buffer, at, { bodyAt }) => onRequest(socket, { buffer, at, bodyAt })),
  );
  // A stopped service drops its connections. Nothing here depends on them.
  socket.on('error', () => socket.destroy());
});

answer({
  start: () =>
    new Promise<string>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      });
    }),
  begin: (run: Run) => {
    tally = new Tally(run);
  },
  report: () => tally.report(),
});
