import { expect, test } from 'vitest';
import { AnswerLengths } from './answer-lengths.ts';

const answer = (length: number, body = length): Buffer => {
  const bytes = Buffer.alloc(4 + body);
  bytes.writeInt32BE(length);
  return bytes;
};

test('lengths are found whatever the chunks are', () => {
  const stream = Buffer.concat([answer(4), answer(100), answer(7), answer(101, 0)]);
  for (const size of [1, 3, 5, 64, stream.length]) {
    const lengths = new AnswerLengths(100);
    const found: boolean[] = [];
    for (let at = 0; at < stream.length; at += size)
      found.push(lengths.areAllowed(stream.subarray(at, at + size)));
    expect(found).toEqual([...found.slice(1).map(() => true), false]);
  }
  for (const wrong of [-1, 0, 3]) expect(new AnswerLengths(100).areAllowed(answer(wrong, 0))).toBe(false);
});
