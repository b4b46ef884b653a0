import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * TCP relays to the database, one per node, in their own thread so that the work of the harness does not slow
 * them. Requests pass at once. Answers are delayed and pass in order. When a delay shrinks, later answers do
 * not overtake earlier ones.
 */
const { count, socketPath } = workerData as { count: number; socketPath: string };
const delaysMs = Array.from({ length: count }, () => 0);

/** Writes to one socket, late. */
class DelayLine {
  readonly #to: Socket;
  readonly #waiting: { at: number; pass(): void }[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(to: Socket) {
    this.#to = to;
  }

  write(chunk: Buffer, delayMs: number): void {
    this.#push(delayMs, () => this.#to.write(chunk));
  }

  end(delayMs: number): void {
    this.#push(delayMs, () => this.#to.destroy());
  }

  #push(delayMs: number, pass: () => void): void {
    const at = Math.max(performance.now() + delayMs, this.#waiting.at(-1)?.at ?? 0);
    this.#waiting.push({ at, pass });
    if (this.#timer === null) this.#run();
  }

  #run(): void {
    this.#timer = null;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const waitMs = next.at - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#run(), waitMs);
        return;
      }
      this.#waiting.shift();
      next.pass();
    }
  }
}

function relay(n: number, client: Socket): void {
  const upstream = connect(socketPath);
  const answers = new DelayLine(client);
  const delayMs = () => delaysMs[n] as number;
  client.on('data', (chunk: Buffer) => upstream.write(chunk));
  upstream.on('data', (chunk: Buffer) => answers.write(chunk, delayMs()));
  for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => answers.end(delayMs()));
}

parentPort?.on('message', (change: { relay: number; delayMs: number }) => {
  delaysMs[change.relay] = change.delayMs;
});
const servers = delaysMs.map((_, n) => createServer({ noDelay: true }, (client) => relay(n, client)));
const ports = servers.map(
  (server) =>
    new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    }),
);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage(await Promise.all(ports));
