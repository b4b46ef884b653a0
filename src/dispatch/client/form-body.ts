/**
 * A JSON object as `application/x-www-form-urlencoded`: one field per top-level key, keys sorted by their
 * UTF-8 bytes, the last of duplicate keys. Strings are written as they are, `null` as empty, and every other
 * value as its text in the JSON. So `12.50` and integers beyond 2^53 keep every digit, and nested values keep
 * their key order.
 */

export type FormResult = { kind: 'form'; body: Buffer } | { kind: 'not_an_object' };

export function formBody(json: Buffer): FormResult {
  const text = json.toString('utf8').trim();
  try {
    JSON.parse(text);
  } catch {
    return { kind: 'not_an_object' };
  }
  if (!text.startsWith('{')) return { kind: 'not_an_object' };
  const fields = [...topLevelMembers(text)]
    .map(([key, value]) => ({ key, value, bytes: Buffer.from(key) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  const form = new URLSearchParams(fields.map(({ key, value }) => [key, fieldText(value)]));
  return { kind: 'form', body: Buffer.from(form.toString()) };
}

/** Keys and the text of their values. `text` is a valid JSON object, so only its structure is scanned. */
function topLevelMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(text, 1);
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.set(JSON.parse(text.slice(at, keyEnd)), text.slice(valueStart, valueEnd).trimEnd());
    at = skipSpace(text, valueEnd + 1);
  }
  return members;
}

function skipSpace(text: string, at: number): number {
  let next = at;
  while (' \t\r\n'.includes(text[next] ?? '.')) next++;
  return next;
}

/** The index after the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** The index of the comma or brace that ends a member's value. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  for (;;) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (depth === 0 && (char === ',' || char === '}')) return at;
    if (char === '{' || char === '[') depth++;
    if (char === '}' || char === ']') depth--;
    at++;
  }
}

function fieldText(value: string): string {
  if (value.startsWith('"')) return JSON.parse(value);
  return value === 'null' ? '' : value;
}
