/**
 * Ends this process when a run cannot be ended otherwise. V8 checks interrupts in loops of JavaScript but not
 * in all of its own (`[].indexOf.call({ length: 2 ** 53 }, 1)` runs for years), and a function may take
 * memory that the heap limit does not count. The watchdog runs in this process and not in the node, so it
 * also ends a function left running by a killed node.
 *
 * The main thread writes the run's number and limits to shared memory. The thread of `watchdog-thread.ts`
 * reads them every few milliseconds. Number 0 means idle: the thread then sleeps until notified.
 */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FunctionLimits } from './contract.ts';

export const watchdogWords = { run: 0, cpuMs: 1, heapKiB: 2, count: 3 };

export class Watchdog {
  readonly #words = new Int32Array(new SharedArrayBuffer(4 * watchdogWords.count));
  #runs = 0;

  constructor() {
    // TypeScript here, JavaScript in an installed package.
    const file = new URL(`./watchdog-thread${extname(import.meta.filename)}`, import.meta.url);
    const thread = new Worker(file, { workerData: this.#words });
    thread.unref();
  }

  began(limits: FunctionLimits): void {
    this.#runs = (this.#runs % 1_000_000_000) + 1;
    this.#words[watchdogWords.cpuMs] = limits.cpuMs;
    this.#words[watchdogWords.heapKiB] = Math.ceil(limits.heapBytes / 1024);
    Atomics.store(this.#words, watchdogWords.run, this.#runs);
    Atomics.notify(this.#words, watchdogWords.run);
  }

  ended(): void {
    Atomics.store(this.#words, watchdogWords.run, 0);
  }
}
