import { expect, test } from 'vitest';
import { type BoundedRegex, compileRegex } from './bounded-regex.ts';
import { WorkMeter } from './work-meter.ts';

class CountingMeter extends WorkMeter {
  refusals = 0;

  override spend(steps: number): boolean {
    const granted = super.spend(steps);
    if (!granted) this.refusals += 1;
    return granted;
  }

  /** A meter whose event has only the guaranteed minimum of steps left. */
  static poor(): CountingMeter {
    const meter = new CountingMeter();
    for (let round = 0; round < 10; round += 1) {
      meter.begin();
      meter.spend(4_000_000);
      meter.end();
    }
    meter.refusals = 0;
    meter.begin();
    return meter;
  }

  static rich(): CountingMeter {
    const meter = new CountingMeter();
    meter.begin();
    return meter;
  }
}

function regexOf(pattern: string): BoundedRegex {
  const result = compileRegex(pattern);
  if (!result.ok) throw new Error(result.message);
  return result.regex;
}

/** A text of a and b in no order. A counted repetition needs a new state at almost every character of it. */
function disorder(chars: number): string {
  let state = 12_345;
  return Array.from({ length: chars }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state > 1_073_741_824 ? 'a' : 'b';
  }).join('');
}

const MANY_STATES = '(?:a|b)*a(?:[ab]){100}[^ab]';

test.each([
  ['', 'anything', true],
  ['b', 'abc', true],
  ['^b', 'abc', false],
  ['^.$', '😀', true],
  ['(?i)ÄB', 'xäbx', true],
  ['a$', 'a\n', false],
  ['\\bfoo\\b', 'a foo b', true],
  ['\\pL+', '123', false],
])('the pattern "%s" on "%s": %s', (pattern, text, expected) => {
  const regex = regexOf(pattern);
  // Search twice: the second search walks through states that the first has built.
  expect(regex.search(text, CountingMeter.rich())).toBe(expected);
  expect(regex.search(text, CountingMeter.rich())).toBe(expected);
});

test.each(['(', '(a)\\1', '(?<=a)b', '(?=a)', 'a{1001}', '(a{1000}){1000}', '('.repeat(900)])(
  'the pattern "%s" is refused with a message',
  (pattern) => {
    expect(compileRegex(pattern)).toMatchObject({ ok: false, message: expect.stringContaining('RE2') });
  },
);

test('a pattern of too many characters or instructions is refused', () => {
  expect(compileRegex('a'.repeat(1_001))).toMatchObject({
    ok: false,
    message: expect.stringContaining('longer'),
  });
  expect(compileRegex('[ab]{300}')).toMatchObject({
    ok: false,
    message: expect.stringContaining('too complex'),
  });
});

test('a search that can pay for the simulation returns its result', () => {
  const meter = CountingMeter.rich();
  expect(regexOf(MANY_STATES).search(`${disorder(2_000)}!`, meter)).toBe(true);
  expect(meter.exhausted).toBe(false);
});

test('a search that cannot pay for the simulation does not simulate', () => {
  const meter = CountingMeter.rich();
  expect(regexOf(MANY_STATES).search(`${disorder(60_000)}!`, meter)).toBe(false);
  expect(meter.exhausted).toBe(true);
});

test('a search that cannot pay for its states stops building them', () => {
  const meter = CountingMeter.poor();
  expect(regexOf(MANY_STATES).search(disorder(2_000), meter)).toBe(false);
  expect(meter.refusals).toBeGreaterThan(0);
  expect(meter.refusals).toBeLessThan(5);
});

test('a pattern that ran out of steps once works again when the steps suffice', () => {
  const regex = regexOf('^[ab]+a[ab]{20}$');
  const text = `a${'b'.repeat(20)}`;
  expect(regex.search(disorder(9_000), CountingMeter.poor())).toBe(false);
  expect(regex.search(`b${text}`, CountingMeter.rich())).toBe(true);
});
