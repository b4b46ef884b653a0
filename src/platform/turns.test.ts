import { describe, expect, it } from 'vitest';
import { Turns } from './turns.ts';

/** Work of `sharers`, each piece ending when its turn in `finish` has come. */
function scene(most: number) {
  const turns = new Turns(most);
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const add = (sharer: string, count: number) =>
    Array.from({ length: count }, () =>
      turns.run(sharer, () => {
        started.push(sharer);
        return new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { turns, started, ends, add, settle };
}

describe('Turns', () => {
  it('runs half of the most for a lone sharer and finds a place for the next at once', async () => {
    const { turns, started, ends, add, settle } = scene(4);
    const all = add('a', 10);
    await settle();
    expect(started).toEqual(['a', 'a']);
    expect(turns.waiting('a')).toBe(8);
    all.push(...add('b', 1));
    await settle();
    expect(started).toEqual(['a', 'a', 'b']);
    while (ends.length > 0 || turns.waiting('a') > 0) {
      ends.shift()?.();
      await settle();
    }
    await Promise.all(all);
    expect(started).toHaveLength(11);
  });

  it('serves those that wait in turns', async () => {
    const { turns, started, ends, add, settle } = scene(1);
    const all = [...add('a', 3), ...add('b', 2), ...add('c', 1)];
    while (ends.length > 0 || turns.waiting('a') + turns.waiting('b') + turns.waiting('c') > 0) {
      await settle();
      ends.shift()?.();
      await settle();
    }
    await Promise.all(all);
    expect(started).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
  });

  it('frees the place of work that fails', async () => {
    const turns = new Turns(1);
    await expect(turns.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(turns.run('b', async () => 'yes')).resolves.toBe('yes');
  });

  it('runs at most so many of a sharer at a time as each may have', async () => {
    const turns = new Turns(4, 1);
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const all = ['a', 'a', 'a', 'b', 'b'].map((sharer) =>
      turns.run(sharer, () => {
        started.push(sharer);
        return new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    expect(started).toEqual(['a', 'b']);
    for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(started).toHaveLength(5);
  });

  it('takes work out of the line when its signal fires, and keeps the others in order', async () => {
    const { turns, started, ends, add, settle } = scene(1);
    const first = add('a', 1);
    const over = new AbortController();
    const left = ['b', 'a'].map((sharer) => turns.runBefore(over.signal, sharer, async () => 'never'));
    const stays = turns.runBefore(new AbortController().signal, 'b', async () => 'its turn');
    over.abort();
    expect(await Promise.all(left)).toEqual([undefined, undefined]);
    expect([turns.waiting('a'), turns.waiting('b')]).toEqual([0, 1]);
    expect(await turns.runBefore(over.signal, 'c', async () => 'never')).toBeUndefined();
    ends.shift()?.();
    await Promise.all(first);
    expect(await stays).toBe('its turn');
    await settle();
    expect(started).toEqual(['a']);
  });
});
