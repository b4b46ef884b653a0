import { expect, test } from 'vitest';
import {
  givenTrace,
  parseTrace,
  storedTrace,
  traceparent,
  withoutTrace,
  withTrace,
} from './trace-context.ts';

const ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const GOOD = `00-${ID}-${SPAN}-01`;

test('a traceparent is read and written', () => {
  const trace = parseTrace(GOOD, 'a=1');
  expect(trace).toEqual({ traceId: ID, spanId: SPAN, isSampled: true, state: 'a=1' });
  expect(traceparent(trace!)).toBe(GOOD);
});

test.each([
  ['00', false],
  ['01', true],
  ['02', false],
  ['ff', true],
])('flags %s mean recorded: %s', (flags, isSampled) => {
  expect(parseTrace(`00-${ID}-${SPAN}-${flags}`, undefined)?.isSampled).toBe(isSampled);
});

test('a later version is read as far as it is known', () => {
  expect(parseTrace(`cc-${ID}-${SPAN}-01-what-the-future-brings`, undefined)?.traceId).toBe(ID);
  expect(parseTrace(`cc-${ID}-${SPAN}-01`, undefined)?.traceId).toBe(ID);
});

test.each([
  undefined,
  '',
  [GOOD, GOOD],
  `${GOOD}, ${GOOD}`,
  `${GOOD}-more`,
  `ff-${ID}-${SPAN}-01`,
  `cc-${ID}-${SPAN}-01.future`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${ID}-${'0'.repeat(16)}-01`,
  `00-${ID.toUpperCase()}-${SPAN}-01`,
  `00-${ID.slice(1)}-${SPAN}-01`,
  `00-${ID}-${SPAN}-1`,
  ` ${GOOD}`,
  `cc-${ID}-${SPAN}-01-${'x'.repeat(300)}`,
])('%j is not a traceparent', (text) => {
  expect(parseTrace(text, 'a=1')).toBeNull();
});

test.each(['', 'a=\u0007', 'é', 'a'.repeat(513), 7])('tracestate %j is dropped', (state) => {
  expect(parseTrace(GOOD, state)?.state).toBe('');
});

test('several tracestate headers are one list', () => {
  expect(parseTrace(GOOD, ['a=1', 'b=2'])?.state).toBe('a=1,b=2');
});

test('a trace is stored in the headers, replaces another one, and is read back', () => {
  const trace = parseTrace(GOOD, 'a="1"')!;
  const headers = withTrace(
    { 'X-One': ['1'], TraceParent: ['x'], Tracestate: ['y'], __proto__x: ['z'] },
    trace,
  );
  expect(Object.entries(headers)).toEqual([
    ['traceparent', [GOOD]],
    ['tracestate', ['a="1"']],
    ['X-One', ['1']],
    ['__proto__x', ['z']],
  ]);
  expect(storedTrace(JSON.stringify(headers))).toEqual(trace);
  expect(givenTrace(headers)).toEqual(trace);
  expect(withoutTrace(headers)).toEqual({ 'X-One': ['1'], __proto__x: ['z'] });
});

test('headers without a trace have none', () => {
  expect(storedTrace(null)).toBeNull();
  expect(storedTrace('{"X-One":["1"]}')).toBeNull();
  expect(storedTrace('{"traceparent":["x"]}')).toBeNull();
  expect(givenTrace({ 'X-One': ['1'] })).toBeNull();
  expect(givenTrace({ tracestate: ['a=1'] })).toBeNull();
});
