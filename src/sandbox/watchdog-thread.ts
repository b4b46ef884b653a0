/** The thread behind `Watchdog`. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { starvation } from './contract.ts';
import { lastWords } from './protocol.ts';
import { watchdogWords } from './watchdog.ts';

const lookMs = 10;
/** In addition to heap and buffers. Code, compiler and collector may need as much again, plus a base. */
const spareBytes = 96 * 1024 * 1024;
const words = workerData as Int32Array;
const nothing = new Int32Array(new SharedArrayBuffer(4));

interface Sight {
  run: number;
  atMs: number;
  cpuMs: number;
  rssBytes: number;
}

function look(run: number): Sight {
  const { user, system } = process.cpuUsage();
  const rssBytes = process.memoryUsage.rss();
  return { run, atMs: performance.now(), cpuMs: (user + system) / 1000, rssBytes };
}

function verdict(first: Sight, now: Sight): string | undefined {
  const cpuMs = words[watchdogWords.cpuMs] as number;
  const heapBytes = (words[watchdogWords.heapKiB] as number) * 1024;
  if (now.rssBytes - first.rssBytes > 2 * heapBytes + spareBytes) return lastWords.memory;
  // The factor 2: the process's figure includes the collector's threads and the timer that tries to end the
  // run.
  if (now.cpuMs - first.cpuMs > 2 * cpuMs + 100) return lastWords.cpu;
  // isolate-cache.ts lets a run on a starved machine go that far.
  if (now.atMs - first.atMs > starvation * cpuMs + 5_000) return lastWords.wall;
  return undefined;
}

function endProcess(ending: string): never {
  try {
    writeSync(2, `${ending}\n`);
  } finally {
    // Also when the node that reads these words is gone.
    process.kill(process.pid, 'SIGKILL');
  }
  throw new Error('the process outlived SIGKILL');
}

let first: Sight | undefined;
for (;;) {
  const run = Atomics.load(words, watchdogWords.run);
  if (run === 0) {
    first = undefined;
    Atomics.wait(words, watchdogWords.run, 0);
    continue;
  }
  const now = look(run);
  if (first?.run !== run) first = now;
  const ending = verdict(first, now);
  if (ending !== undefined) endProcess(ending);
  Atomics.wait(nothing, 0, 0, lookMs);
}
