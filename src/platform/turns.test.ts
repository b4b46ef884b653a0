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
});
