import { expect, test } from 'vitest';
import { firstIdAt } from '../../domain/ids.ts';
import { objectKey } from './object-key.ts';

const at = (time: string) => firstIdAt(Date.parse(time));

test('an object is named by the time in the id of its message, and by that id', () => {
  const id = at('2026-02-03T04:05:06.789Z');
  expect(objectKey('events/', id)).toBe(`events/2026/02/03/04-05-06-${id}.jsonl.gz`);
  expect(objectKey('', `${id}_${id}`)).toBe(`2026/02/03/04-05-06-${id}_${id}.jsonl.gz`);
  expect(objectKey('', `batch_${id}`)).toBe(`2026/02/03/04-05-06-batch_${id}.jsonl.gz`);
});

test('names are in the order of time', () => {
  const times = [
    '2026-02-03T04:05:06.001Z',
    '2026-02-03T04:05:06.002Z',
    '2026-02-03T14:00:00Z',
    '2026-11-01T00:00:00Z',
  ];
  const keys = times.map((time) => objectKey('p/', at(time)));
  expect(keys.toSorted()).toEqual(keys);
});

test('an id without a time still names one object', () => {
  expect(objectKey('', 'an id/of …')).toBe('1970/01/01/00-00-00-an-id-of--.jsonl.gz');
});
