import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { compiled, subjectWith } from '../../test/support/filters.ts';
import { READ_AT_ONCE, resultOf } from './work-meter.ts';

const subjectOf = (body: unknown) => subjectWith({ body });
const bodyFilter = (body: unknown) => compiled({ body });

/** Counts how often an array's elements or an object's fields are read. */
function counted<Value extends object>(value: Value, reads: { count: number }): Value {
  return new Proxy(value, {
    get(target, key, receiver) {
      if (typeof key === 'string' && key !== 'length') reads.count += 1;
      return Reflect.get(target, key, receiver);
    },
  });
}

test('patterns that are exponential in backtracking engines return a result', () => {
  const text = `${'a'.repeat(50_000)}!`;
  for (const pattern of ['(a+)+$', '(a|aa)+$', '(a*)*b', '(.*a){12}$']) {
    const subject = subjectOf({ text });
    expect(bodyFilter({ text: { $regex: pattern } }).matches(subject)).toBe(false);
    expect(subject.meter.overspent).toBe(0);
  }
  expect(bodyFilter({ text: { $regex: '(a+)+!$' } }).matches(subjectOf({ text }))).toBe(true);
});

/** Texts of a and b in no order. They make the engine build a new state for almost every character. */
function disorder(length: number): string {
  let state = 12_345;
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state > 1_073_741_824 ? 'a' : 'b';
  }).join('');
}

test('a pattern that defeats the fast path works on short texts and runs out of steps on long ones', () => {
  const filter = bodyFilter({ text: { $regex: '(?:a|b)*a(?:[ab]){100}[^ab]' } });
  const short = subjectOf({ text: `${disorder(1_500)}!` });
  expect(filter.matches(short)).toBe(true);
  expect(short.meter.overspent).toBe(0);

  const long = subjectOf({ text: `${disorder(60_000)}!` });
  expect(filter.matches(long)).toBe(false);
  expect(long.meter.overspent).toBe(1);
  expect(resultOf(filter.explaining(long))).toMatchObject({
    matched: false,
    reason: expect.stringContaining('more work'),
  });
});

test('many hostile patterns on one event share its steps, and ordinary patterns still work', () => {
  const text = disorder(500);
  const subject = subjectOf({ text });
  for (let at = 0; at < 200; at += 1) {
    bodyFilter({ text: { $regex: `(?:a|b)*a(?:[ab]){${50 + (at % 100)}}[^ab]|${at}` } }).matches(subject);
  }
  expect(subject.meter.overspent).toBeGreaterThan(100);
  expect(bodyFilter({ text: { $regex: '^[ab]+$' } }).matches(subject)).toBe(true);
});

test('the memory for states stays small after any text', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const text = disorder(20_000);
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  const filters = Array.from({ length: 10 }, (_, at) =>
    bodyFilter({ text: { $regex: `(?:a|b)*a(?:[ab]){${at + 10}}[^ab]` } }),
  );
  for (const filter of filters) filter.matches(subjectOf({ text }));
  // Measured: 1 MB with our bound, 39 MB with the engine's own.
  expect(heapBytes() - before).toBeLessThan(10_000_000);
  expect(filters.every((filter) => filter.usesBody)).toBe(true);
});

test('three wildcards look at each element once', () => {
  const reads = { count: 0 };
  const leaves = Array.from({ length: 1_000 }, (_, at) => ({ d: at }));
  const b = counted([{ c: counted(leaves, reads) }], reads);
  const a = counted(
    Array.from({ length: 1_000 }, (_, at) => (at === 999 ? { b } : { b: [] })),
    reads,
  );
  expect(bodyFilter({ 'a.$.b.$.c.$.d': 999 }).matches(subjectOf({ a }))).toBe(true);
  expect(reads.count).toBeLessThan(2_100);
});

test('a wildcard filter over more elements than any payload has runs out of steps, and the next filter works', () => {
  const leaves = Array.from({ length: 1_000 }, () => ({ d: 0 }));
  const middle = Array.from({ length: 1_000 }, () => ({ c: leaves }));
  const body = { a: Array.from({ length: 1_000 }, () => ({ b: middle })), type: 'x' };
  const subject = subjectOf(body);
  expect(bodyFilter({ 'a.$.b.$.c.$.d': 1 }).matches(subject)).toBe(false);
  expect(bodyFilter({ 'a.$.b.$.c.$.d': { $exist: false } }).matches(subject)).toBe(false);
  expect(subject.meter.overspent).toBe(2);
  expect(bodyFilter({ type: 'x' }).matches(subject)).toBe(true);
});

test('many costly filters on one event end, and ordinary filters on it still work', () => {
  const reads = { count: 0 };
  const list = Array.from({ length: 400_000 }, (_, at) => at);
  const body = { list, watched: counted(list, reads), type: 'x' };
  const costly = bodyFilter({ list: 'absent' });
  const subject = subjectOf(body);
  for (let round = 0; round < 1_000; round += 1) expect(costly.matches(subject)).toBe(false);
  expect(subject.meter.overspent).toBeGreaterThan(900);
  expect(reads.count).toBe(0);
  expect(bodyFilter({ watched: 'absent' }).matches(subject)).toBe(false);
  expect(reads.count).toBeLessThan(11_000);
  expect(bodyFilter({ type: 'x' }).matches(subject)).toBe(true);
});

test('running out of steps never makes a negative condition hold', () => {
  const list = Array.from({ length: 3_000_000 }, () => 1);
  const filter = bodyFilter({ $and: [{ list: { $nin: [2] } }, { list: { $nin: [3] } }] });
  const subject = subjectOf({ list });
  expect(filter.matches(subject)).toBe(false);
  expect(subject.meter.overspent).toBe(1);
});

test('a payload of 10,000 levels is walked only along the filter', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`);
  expect(bodyFilter({ 'a.a.a.b': 1 }).matches(subjectOf(deep))).toBe(false);
  expect(bodyFilter({ a: { $eq: { a: { a: 1 } } } }).matches(subjectOf(deep))).toBe(false);
  expect(bodyFilter({ a: { a: { $exist: true } } }).matches(subjectOf(deep))).toBe(true);
  const lists: unknown = JSON.parse(`${'['.repeat(10_000)}1${']'.repeat(10_000)}`);
  expect(bodyFilter({ '$.$.$.a': 1 }).matches(subjectOf(lists))).toBe(false);
});

test('payload keys with dots cannot multiply the walk', () => {
  const reads = { count: 0 };
  const segments = Array.from({ length: 12 }, () => 'a');
  // Every way of joining the segments exists in the payload, so the walk takes every branch.
  const build = (left: number): object => {
    const keys = segments.slice(0, left).map((_, at) => ['a', ...segments.slice(0, at)].join('.'));
    return counted(Object.fromEntries(keys.map((key, at) => [key, build(left - at - 1)])), reads);
  };
  const body = build(12);
  expect(bodyFilter({ [segments.join('.')]: 'absent' }).matches(subjectOf(body))).toBe(false);
  expect(reads.count).toBeLessThanOrEqual(12);
});

test('to read texts as numbers costs more, and one filter spends 1.5 million steps at most', () => {
  const used = (items: unknown[]) => {
    const subject = subjectOf({ items });
    bodyFilter({ items: 5 }).matches(subject);
    return subject.meter.used;
  };
  expect(used(Array<number>(1_000).fill(1))).toBeLessThan(1_010);
  expect(used(Array<string>(1_000).fill('1'))).toBeGreaterThan(4_000);
  expect(used(Array<string>(600_000).fill('1'))).toBe(1_500_000);
});

test('a long text and a long list are read in slices, with the result and the steps of one go', () => {
  const text = `${'x'.repeat(8 * READ_AT_ONCE)}\u{1f600}\ud800é!`;
  const list = [[], ...Array<number>(8 * READ_AT_ONCE).fill(0), 'last'];
  const mixed = disorder(4 * READ_AT_ONCE);
  const conditions = [
    { text: { $regex: 'x!$' } },
    { text: { $regex: 'xxx' } },
    { text: { $regex: '\\x{1f600}.é!$' } },
    { text: { $regex: '^x+y|é\\b' }, list: 'last' },
    { list: 1 },
    { list: { $in: ['last'] } },
    { list: { $nin: [7] }, text: { $regex: '!' } },
    { list: 'last', $and: [{ list: { $in: [9] } }] },
    { $or: [{ list: 7 }, { text: { $regex: 'y' } }, { list: [0] }, { list: 'last' }] },
    { mixed: { $regex: '(?:a|b)*a(?:[ab]){30}[^ab]' } },
    { 'rows.$.list': { $in: ['last'] } },
  ];
  for (const condition of conditions) {
    const body = { text, list, mixed, rows: [{ list }, {}] };
    const [whole, sliced] = [subjectOf(body), subjectOf(body)];
    const matching = bodyFilter(condition).matching(sliced);
    let slices = 1;
    let step = matching.next();
    for (; step.done !== true; step = matching.next()) slices++;
    expect([condition, step.value]).toEqual([condition, bodyFilter(condition).matches(whole)]);
    expect(sliced.meter).toMatchObject({ used: whole.meter.used, overspent: whole.meter.overspent });
    expect(slices).toBeGreaterThan(1);
  }
});

test('a pause has at most one slice before it', () => {
  const reads = { count: 0 };
  const list = counted(Array<number>(8 * READ_AT_ONCE).fill(0), reads);
  const matching = bodyFilter({ list: 1, $or: [{ list: { $in: [2] } }, { list: 3 }] }).matching(
    subjectOf({ list }),
  );
  let before = 0;
  for (let step = matching.next(); step.done !== true; step = matching.next()) {
    expect(reads.count - before).toBeLessThanOrEqual(READ_AT_ONCE + 10);
    before = reads.count;
  }
  expect(before).toBeGreaterThanOrEqual(7 * READ_AT_ONCE);
});
