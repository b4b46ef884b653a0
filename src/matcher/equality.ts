import type { WorkMeter } from './work-meter.ts';

/** Longer texts are never read as numbers. No useful number needs more characters. */
const MAX_NUMERIC_CHARS = 400;
/** A decimal text of up to this many characters converts to a double and back unchanged. */
const EXACT_CHARS = 15;
/** To read a text as a number takes as long as so many further steps. */
const TEXT_STEPS = 3;

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/** A number, or a text that reads as one. Undefined for everything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.length > MAX_NUMERIC_CHARS) return undefined;
  if (DECIMAL.test(value)) {
    const number = Number(value);
    return Number.isFinite(number) ? number : undefined;
  }
  const infinite = INFINITE.exec(value);
  if (infinite === null) return undefined;
  return infinite[1] === '-' ? -Infinity : Infinity;
}

/** `numberOf` of a value of an event. */
export function readNumber(actual: unknown, meter: WorkMeter): number | undefined {
  if (typeof actual === 'string' && !meter.spend(TEXT_STEPS)) return undefined;
  return numberOf(actual);
}

export type EqualityTest = (actual: unknown, meter: WorkMeter) => boolean;

/**
 * Equality where numeric texts count as numbers: "5" equals 5 and "1.0" equals "1". Two long texts must also
 * agree digit by digit, because the ids "9007199254740993" and "9007199254740992" are the same double.
 */
export function looselyEqualTo(expected: unknown): EqualityTest {
  if (typeof expected === 'object') return (actual, meter) => deeplyEqual(expected, actual, meter);
  const number = numberOf(expected);
  if (number === undefined) return (actual) => actual === expected;
  if (typeof expected !== 'string') return (actual, meter) => readNumber(actual, meter) === number;
  return (actual, meter) => {
    if (actual === expected) return true;
    if (readNumber(actual, meter) !== number) return false;
    if (typeof actual !== 'string') return true;
    const short = expected.length <= EXACT_CHARS && actual.length <= EXACT_CHARS;
    return short || canonicalDecimal(expected) === canonicalDecimal(actual);
  };
}

function canonicalDecimal(text: string): string {
  const parts = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
  if (parts === null) return text.toLowerCase();
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  const scale = Number(exponent) - fraction.length + (digits.length - kept.length);
  return `${sign === '-' ? '-' : ''}${kept}e${scale}`;
}

/**
 * Strict equality of JSON values, with object keys in any order. It goes no deeper than `expected`; the
 * filter parser bounds that depth.
 */
export function deeplyEqual(expected: unknown, actual: unknown, meter: WorkMeter): boolean {
  if (!meter.spend(1)) return false;
  if (expected === actual) return true;
  if (typeof expected !== 'object' || typeof actual !== 'object') return false;
  if (expected === null || actual === null) return false;
  if (Array.isArray(expected) || Array.isArray(actual)) {
    if (!Array.isArray(expected) || !Array.isArray(actual) || expected.length !== actual.length) return false;
    return expected.every((item, at) => deeplyEqual(item, actual[at], meter));
  }
  const keys = Object.keys(expected);
  if (!meter.spend(keys.length) || !sameKeyCount(keys.length, actual)) return false;
  const left = expected as Record<string, unknown>;
  const right = actual as Record<string, unknown>;
  return keys.every((key) => Object.hasOwn(right, key) && deeplyEqual(left[key], right[key], meter));
}

/** Stops counting one past the expected count, so a huge object costs no more than the one it is compared with. */
function sameKeyCount(count: number, value: object): boolean {
  let seen = 0;
  for (const key in value) {
    if (Object.hasOwn(value, key)) seen += 1;
    if (seen > count) return false;
  }
  return seen === count;
}
