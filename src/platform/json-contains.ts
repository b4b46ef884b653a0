/**
 * Whether a JSON value contains another: an object every key of the pattern with a value that contains the pattern's,
 * an array for each element of the pattern some element that contains it (or the pattern itself, if it is no array or
 * object), anything else if it is the same. Nesting is bounded, so a hostile payload cannot exhaust the stack.
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Tests payloads for containing a pattern. One that has no escapes and lacks a word of the pattern is passed over
 * without being parsed, which is most of them.
 */
export function payloadTest(pattern: unknown): (payload: Buffer) => boolean {
  const words = plainWords(pattern).map((word) => Buffer.from(word));
  return (payload) => {
    if (!payload.includes(0x5c) && words.some((word) => !payload.includes(word))) return false;
    try {
      return jsonContains(JSON.parse(payload.toString()), pattern);
    } catch {
      // Not JSON after all, or nested too deeply to be parsed: it contains nothing.
      return false;
    }
  };
}

/** Keys and texts of the pattern that stand in a payload without escapes exactly as they are. */
function plainWords(pattern: unknown): string[] {
  if (typeof pattern === 'string') return JSON.stringify(pattern) === `"${pattern}"` ? [pattern] : [];
  if (Array.isArray(pattern)) return pattern.flatMap(plainWords);
  if (!isObject(pattern)) return [];
  return Object.entries(pattern).flatMap(([key, value]) => [...plainWords(key), ...plainWords(value)]);
}
