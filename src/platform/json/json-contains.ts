import { isObject } from './is-object.ts';

/**
 * Whether a JSON value contains a pattern. An object contains the pattern if it has every key of it with a
 * value that contains the pattern's value. An array contains it if each element of the pattern is contained
 * in some element, or if some element contains a scalar pattern. Any other value must be equal. Nesting is
 * bounded, so a hostile payload cannot exhaust the stack.
 */
const MAX_DEPTH = 500;

export function jsonContains(value: unknown, pattern: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    const contained = (wanted: unknown) => value.some((element) => jsonContains(element, wanted, depth + 1));
    if (Array.isArray(pattern)) return pattern.every(contained);
    return depth > 0 && !isObject(pattern) && value.includes(pattern);
  }
  if (isObject(value))
    return (
      isObject(pattern) &&
      Object.entries(pattern).every(
        ([key, wanted]) => Object.hasOwn(value, key) && jsonContains(value[key], wanted, depth + 1),
      )
    );
  return value === pattern;
}

/**
 * Tests whether payloads contain a pattern. A payload without escapes that lacks a word of the pattern is
 * skipped without parsing. Most payloads are.
 */
export function payloadTest(pattern: unknown): (payload: Buffer) => boolean {
  const words = plainWords(pattern).map((word) => Buffer.from(word));
  return (payload) => {
    if (!payload.includes(0x5c) && words.some((word) => !payload.includes(word))) return false;
    try {
      return jsonContains(JSON.parse(payload.toString()), pattern);
    } catch {
      // Not JSON, or nested too deeply to parse.
      return false;
    }
  };
}

/** Keys and texts of the pattern that appear unchanged in a payload without escapes. */
function plainWords(pattern: unknown): string[] {
  if (typeof pattern === 'string') return JSON.stringify(pattern) === `"${pattern}"` ? [pattern] : [];
  if (Array.isArray(pattern)) return pattern.flatMap(plainWords);
  if (!isObject(pattern)) return [];
  return Object.entries(pattern).flatMap(([key, value]) => [...plainWords(key), ...plainWords(value)]);
}
