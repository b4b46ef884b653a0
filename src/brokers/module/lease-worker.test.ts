import { expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { type ConsumerContext, StoreAborted } from './broker-module.ts';
import { runLeaseWorker } from './lease-worker.ts';
import type { LeasedMessage, LeasedQueue } from './leased-messages.ts';

const LOT = 2;

/** A queue that always has messages. */
class FullQueue implements LeasedQueue {
  readonly part = { stream: 'queue', order: { keepMs: 1_000 } };
  readonly firstLeaseMs = 30_000;
  received = 0;
  readonly acknowledged: string[] = [];
  readonly givenBack: string[] = [];

  async receive(): Promise<LeasedMessage[]> {
    const lot = Array.from({ length: LOT }, (_, n) => String(this.received + n));
    this.received += LOT;
    return lot.map((id) => ({ key: id, id, receipt: id, body: Buffer.from('{}'), headers: {} }));
  }

  async acknowledge(receipts: readonly string[]): Promise<void> {
    this.acknowledged.push(...receipts);
  }

  async lease(receipts: readonly string[], ms: number): Promise<readonly string[]> {
    if (ms === 0) this.givenBack.push(...receipts);
    return [];
  }
}

/** Stores the first `lots`. The next one waits until the worker is stopped. */
function run(queue: LeasedQueue, lots: number) {
  const stop = new AbortController();
  const waits = Promise.withResolvers<void>();
  let stored = 0;
  const store: ConsumerContext['store'] = (_part, messages) => {
    if (stored++ < lots) return Promise.resolve({ unreadable: new Set<number>() });
    waits.resolve();
    return new Promise((_, reject) => {
      stop.signal.addEventListener('abort', () =>
        reject(new StoreAborted(0, { unreadable: new Set<number>() })),
      );
      expect(messages).toHaveLength(LOT);
    });
  };
  const context = { signal: stop.signal, log: quietLog, connected: () => {}, store };
  const ended = expect(runLeaseWorker(queue, context)).rejects.toThrow(StoreAborted);
  return { stop, ended, waits: waits.promise };
}

/** All that can happen without the lot that waits has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('while a lot is stored one further lot is received, and no third', async () => {
  const queue = new FullQueue();
  const { stop, ended, waits } = run(queue, 0);
  await waits;
  await settled();
  expect(queue.received).toBe(2 * LOT);
  stop.abort();
  await ended;
});

test('stored lots are acknowledged, and at the end the others are given back', async () => {
  const queue = new FullQueue();
  const { stop, ended, waits } = run(queue, 3);
  await waits;
  stop.abort();
  await ended;
  expect(queue.acknowledged).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(queue.givenBack).toEqual(['6', '7', '8', '9']);
});
