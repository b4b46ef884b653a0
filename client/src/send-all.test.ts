import { describe, expect, it } from 'vitest';
import { type Sent, sendAll } from './send-all.ts';

async function collect<Item, Result>(sent: AsyncIterable<Sent<Item, Result>>): Promise<Sent<Item, Result>[]> {
  const all = [];
  for await (const one of sent) all.push(one);
  return all;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('sendAll', () => {
  it('sends every item, at most so many at a time', async () => {
    let underWay = 0;
    let most = 0;
    const send = async (item: number) => {
      underWay += 1;
      most = Math.max(most, underWay);
      for (let turns = 0; turns < item % 5; turns++) await turn();
      underWay -= 1;
      return item * 2;
    };
    const items = Array.from({ length: 50 }, (_, index) => index);
    const sent = await collect(sendAll(items, send, { concurrency: 4 }));
    expect(most).toBe(4);
    expect(sent.map(({ index }) => index).sort((a, b) => a - b)).toEqual(items);
    expect(sent.every((one) => one.ok && one.result === one.item * 2)).toBe(true);
  });

  it('reports a failure and goes on', async () => {
    const send = async (item: string) => {
      if (item === 'b') throw new Error('no');
      return item;
    };
    const sent = await collect(sendAll(['a', 'b', 'c'], send));
    expect(sent.filter(({ ok }) => ok).length).toBe(2);
    expect(sent.find(({ ok }) => !ok)).toMatchObject({ index: 1, item: 'b', error: new Error('no') });
  });

  it('reads a source no faster than it sends', async () => {
    let read = 0;
    async function* source() {
      for (;;) yield read++;
    }
    let seen = 0;
    for await (const _ of sendAll(source(), async (item) => item, { concurrency: 3 })) {
      seen += 1;
      if (seen === 10) break;
    }
    expect(read).toBeLessThanOrEqual(seen + 3);
  });

  it('aborts the calls under way if the consumer stops', async () => {
    const signals: AbortSignal[] = [];
    const send = (item: number, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return item === 0 ? Promise.resolve() : new Promise<void>(() => {});
    };
    for await (const _ of sendAll([0, 1, 2], send, { concurrency: 2 })) break;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('ends with the reason of the signal', async () => {
    const controller = new AbortController();
    const send = async () => controller.abort(new Error('enough'));
    await expect(
      collect(sendAll([1, 2, 3], send, { concurrency: 1, signal: controller.signal })),
    ).rejects.toThrow('enough');
  });

  it('refuses a concurrency that would never start', async () => {
    await expect(collect(sendAll([1], async () => 1, { concurrency: 0 }))).rejects.toThrow(RangeError);
  });
});
