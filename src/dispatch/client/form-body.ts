import { cutMembers } from '../../platform/json/cut-json.ts';

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
  const fields = [...cutMembers(text)]
    .map(([key, value]) => ({ key, value, bytes: Buffer.from(key) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  const form = new URLSearchParams(fields.map(({ key, value }) => [key, fieldText(value)]));
  return { kind: 'form', body: Buffer.from(form.toString()) };
}

function fieldText(value: string): string {
  if (value.startsWith('"')) return JSON.parse(value);
  return value === 'null' ? '' : value;
}
