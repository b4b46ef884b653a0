import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** The process of a connection (senders-thread.ts). It is filled in a little later, in `pid`. */
export interface Sender {
  /** Null if it is unknown, or not known yet. */
  pid: number | null;
}

export class Senders {
  readonly #worker = new Worker(new URL('./senders-thread.ts', import.meta.url));
  readonly #asked = new Map<string, Sender[]>();
  readonly #isKnowable = existsSync('/proc/net/tcp');

  constructor() {
    this.#worker.on('message', (found: [connection: string, pid: number | null][]) => {
      for (const [connection, pid] of found) {
        const sender = this.#asked.get(connection)?.shift();
        if (sender !== undefined) sender.pid = pid;
      }
    });
  }

  /** From now on this process may be a sender. */
  add(pid: number): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ process: pid });
  }

  /** The process of our peer. A port of it may also have connections to other places, of other processes. */
  of({ remotePort, localPort }: Pick<Socket, 'remotePort' | 'localPort'>): Sender {
    const sender: Sender = { pid: null };
    if (!this.#isKnowable) return sender;
    const connection = `${remotePort} ${localPort}`;
    this.#asked.set(connection, [...(this.#asked.get(connection) ?? []), sender]);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ connection });
    return sender;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
