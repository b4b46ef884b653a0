import { describe, expect, it } from 'vitest';
import { SharedRoom } from './shared-room.ts';

const fill = (room: SharedRoom, sharer: string, amount = 1) => {
  let count = 0;
  while (room.enter(sharer, amount)) count += 1;
  return count;
};

describe('SharedRoom', () => {
  it('gives a sharer that is alone its part, and the next one a part of the rest', () => {
    const room = new SharedRoom(100);
    expect(fill(room, 'a')).toBe(50);
    expect(fill(room, 'b')).toBe(25);
    expect(fill(room, 'c')).toBe(13);
    expect(room.used).toBe(88);
  });

  it.each([1, 3])('says how many units are left for a sharer (greed %i)', (greed) => {
    for (const most of [1, 2, 3, 7, 100]) {
      const room = new SharedRoom(most, greed);
      for (const sharer of ['a', 'b', 'c']) {
        const left = room.left(sharer);
        expect(fill(room, sharer), `${sharer} of ${most}`).toBe(left);
        expect(room.left(sharer)).toBe(0);
      }
      expect(room.used).toBeLessThanOrEqual(most);
    }
  });

  it('lets a lone sharer use three quarters with a greed of three', () => {
    expect(fill(new SharedRoom(2_000, 3), 'a')).toBe(1_500);
  });

  it('gives room back when a sharer leaves', () => {
    const room = new SharedRoom(100);
    expect(fill(room, 'a', 10)).toBe(5);
    expect(room.enter('b', 30)).toBe(true);
    expect(room.enter('a', 10)).toBe(false);
    room.leave('b', 30);
    for (let n = 0; n < 5; n += 1) room.leave('a', 10);
    expect(room.used).toBe(0);
    expect(fill(room, 'a', 10)).toBe(5);
  });
});
