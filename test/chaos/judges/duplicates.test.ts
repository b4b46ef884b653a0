import { expect, test } from 'vitest';
import type { Fault } from '../fault-injector.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { StoredTry } from '../stored.ts';
import { findDuplicates } from './duplicates.ts';

const FIRST = 1;
const SECOND = 2;

const receipt = (second: number, pid: number | null): Receipt => ({
  deliveryId: 'd',
  character: 'healthy',
  sender: { pid },
  sentAt: second * 1_000,
  after: second * 1_000,
  at: second * 1_000 + 20,
  isAcknowledged: true,
});

const fault = (kind: Fault['kind'], pid: number | null, [from, to]: [number, number]): Fault => ({
  kind,
  node: pid === null ? 'database' : `node ${pid}`,
  pid,
  from: from * 1_000,
  to: to * 1_000,
  delayMs: 0,
});

const stored = (sent: number, state: Partial<StoredTry> = {}): StoredTry => ({
  delivery_id: 'd',
  sent,
  started: sent * 1_000,
  is_stale: false,
  is_answered: true,
  error: null,
  ...state,
});

/** Sent by the first node at second 100 and by the second at 112, whose answer was recorded. */
const sent = [receipt(100, FIRST), receipt(112, SECOND)];
const explained = (faults: Fault[], receipts = sent, tries = [stored(receipts[1]!.sentAt / 1_000)]) =>
  findDuplicates(receipts, tries, faults).duplicates.map(({ faults: causes }) => causes.length > 0);

test.each<[string, Fault[]]>([
  ['its process was killed', [fault('kill node', FIRST, [101, 105])]],
  ['its process was frozen past its lease', [fault('freeze node', FIRST, [100, 113])]],
  ['the database was away', [fault('kill database', null, [101, 104])]],
  [
    'its process stopped while the database was away',
    [fault('stop node', FIRST, [101, 110]), fault('kill database', null, [101, 104])],
  ],
])('a second request is explained if %s', (_why, faults) => {
  expect(explained(faults)).toEqual([true]);
});

test.each<[string, Fault[]]>([
  ['nothing happened', []],
  ['another process was killed', [fault('kill node', SECOND, [101, 105])]],
  ['its process stopped, and nothing else happened', [fault('stop node', FIRST, [101, 105])]],
  ['its process was paused for less than its lease', [fault('stall node', FIRST, [101, 106])]],
  ['answers of the database came late', [fault('delay database', FIRST, [99, 113])]],
  ['connections to the database were cut', [fault('cut connections', null, [101, 102])]],
  ['the fault was over before it was sent', [fault('freeze node', FIRST, [80, 99])]],
  ['the fault came after the second', [fault('kill node', FIRST, [115, 120])]],
])('a second request is not explained if %s', (_why, faults) => {
  expect(explained(faults)).toEqual([false]);
});

test('a second request sooner than a takeover is explained only by the end of its process', () => {
  const soon = [receipt(100, FIRST), { ...receipt(100, SECOND), at: 100_500 }];
  expect(explained([fault('kill database', null, [99, 101])], soon)).toEqual([false]);
  expect(explained([fault('freeze node', FIRST, [99, 112])], soon)).toEqual([false]);
  expect(explained([fault('kill node', FIRST, [100, 104])], soon)).toEqual([true]);
});

test('each repeated one of three requests needs its own explanation', () => {
  const three = [receipt(100, FIRST), receipt(112, SECOND), receipt(130, FIRST)];
  const tries = [stored(130)];
  const first = fault('kill node', FIRST, [101, 105]);
  expect(explained([first], three, tries)).toEqual([false]);
  expect(explained([first, fault('kill node', SECOND, [113, 118])], three, tries)).toEqual([true]);
});

test('no request may follow a recorded answer, even with faults', () => {
  const faults = [fault('kill node', FIRST, [101, 105]), fault('kill database', null, [100, 112])];
  expect(findDuplicates(sent, [stored(100), stored(112)], faults).again).toHaveLength(1);
  const late = [stored(100, { is_stale: true }), stored(112)];
  expect(findDuplicates(sent, late, faults).again).toEqual([]);
});

test('a request that was recorded as unanswered or not acknowledged is not a duplicate', () => {
  expect(findDuplicates(sent, [stored(100, { is_answered: false }), stored(112)], []).duplicates).toEqual([]);
  const refused = { ...receipt(100, FIRST), isAcknowledged: false };
  expect(findDuplicates([refused, receipt(112, SECOND)], [stored(112)], []).duplicates).toEqual([]);
});
