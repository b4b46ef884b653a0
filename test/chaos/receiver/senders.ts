import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** The process of a connection (senders-thread.ts). It is filled in a little later, in `pid`. */
export interface Sender {
  /** Null if it is unknown, or not known yet. */
  pid: number | null;
}

export class Senders {
  readonly #worker = new Worker(new URL('./senders-thread.ts', import.meta.url));
  readonly #asked = new Map<number, Sender[]>();
  readonly #isKnowable = existsSync('/proc/net/tcp');

  constructor() {
    this.#worker.on('message', (found: [port: number, pid: number | null][]) => {
      for (const [port, pid] of found) {
        const sender = this.#asked.get(port)?.shift();
        if (sender !== undefined) sender.pid = pid;
      }
    });
  }

  /** From now on this process may be a sender. */
  add(pid: number): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ process: pid });
  }

  /** The process behind this port of our peer. */
  of(port: number): Sender {
    const sender: Sender = { pid: null };
    if (!this.#isKnowable) return sender;
    this.#asked.set(port, [...(this.#asked.get(port) ?? []), sender]);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ port });
    return sender;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
