import { expect, test } from 'vitest';
import { lsnText, parseLsn } from './change-event.ts';
import { parsePosition, positionKey, readTimelines } from './log-position.ts';

const HISTORY = '1\t0/3000060\tno recovery target specified\n\n2\t0/5000000\tbefore 2026-01-31\n';

test('positions compare as text in the order of the log, across timelines', () => {
  const timelines = readTimelines(3, HISTORY, parseLsn);
  const at = (lsn: string, index: number) => positionKey(timelines, parseLsn(lsn), index);
  const keys = [
    at('0/1', 0),
    at('0/1', 9),
    at('0/1', 10),
    at('0/300005F', 0),
    at('0/3000060', 0),
    at('0/5000000', 0),
    at('FFFFFFFF/FFFFFFFF', 0),
  ];
  expect(keys.toSorted()).toEqual(keys);
});

test('after a restore the same place of the log is new, and what is older than the restore is a repeat', () => {
  const before = readTimelines(1, '', parseLsn);
  const after = readTimelines(2, '1\t0/500\trestored', parseLsn);
  const stored = positionKey(before, parseLsn('0/900'), 0);
  expect(positionKey(after, parseLsn('0/600'), 0) > stored).toBe(true);
  expect(positionKey(after, parseLsn('0/400'), 0) > stored).toBe(false);
  expect(parsePosition(stored)).toEqual({ timeline: 1, lsn: 0x900n });
});

test('a place of the log reads as PostgreSQL writes it', () => {
  for (const text of ['0/0', '0/16B3748', 'A/FFFFFFFF']) expect(lsnText(parseLsn(text))).toBe(text);
});
