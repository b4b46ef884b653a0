// Byte-exact JSON. JSON.parse loses number text (1.0, 1e400, 12345678901234567890), escapes and duplicate
// keys, so payloads travel as text and these functions work on that text.
//
// Every text given here is valid JSON: JSON.parse accepted it before. The scans are single passes that jump
// over strings and keep a depth counter instead of recursing, so hostile nesting costs time linear in length.
import { randomBytes } from 'node:crypto';

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** The text without insignificant whitespace; the same string when there is none. */
export function compactJson(text: string): string {
  let compact = '';
  let keptFrom = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
    } else if (code <= space) {
      compact += text.slice(keptFrom, at);
      at = skipWhitespace(text, at);
      keptFrom = at;
    } else {
      at++;
    }
  }
  return keptFrom === 0 ? text : compact + text.slice(keptFrom);
}

/**
 * The text of the value under `key` in a JSON object, or undefined when the object has no such key or the
 * text is not an object. As with JSON.parse the last of duplicate keys wins, however each is escaped.
 */
export function cutTopLevel(text: string, key: string): string | undefined {
  let value: string | undefined;
  let at = skipWhitespace(text, 0);
  if (text.charCodeAt(at) !== openBrace) return undefined;
  at = skipWhitespace(text, at + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = endOfString(text, at);
    const valueStart = skipWhitespace(text, skipWhitespace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    if (unescapedKey(text.slice(at, keyEnd)) === key) value = text.slice(valueStart, valueEnd);
    at = skipWhitespace(text, valueEnd);
    if (text.charCodeAt(at) === comma) at = skipWhitespace(text, at + 1);
  }
  return value;
}

function unescapedKey(literal: string): string {
  return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}

function skipWhitespace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= space) at++;
  return at;
}

function endOfString(text: string, openQuoteAt: number): number {
  let closeQuoteAt = openQuoteAt;
  do {
    closeQuoteAt = text.indexOf('"', closeQuoteAt + 1);
    if (closeQuoteAt === -1) throw new Error('not JSON: a string does not end');
  } while (isEscaped(text, closeQuoteAt));
  return closeQuoteAt + 1;
}

function isEscaped(text: string, quoteAt: number): boolean {
  let at = quoteAt - 1;
  while (text.charCodeAt(at) === backslash) at--;
  return (quoteAt - at) % 2 === 0;
}

function endOfValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      if (depth === 0) return at;
    } else if (code === openBrace || code === openBracket) {
      depth++;
      at++;
    } else if (code === closeBrace || code === closeBracket) {
      // At depth 0 this closes the object around a number or word, which ended just before.
      if (depth === 0) return at;
      depth--;
      at++;
      if (depth === 0) return at;
    } else if (depth === 0 && (code === comma || code <= space)) {
      return at;
    } else {
      at++;
    }
  }
  return at;
}

// While stringifyWithRaw runs, each RawJson met by JSON.stringify leaves a placeholder string and notes its
// text here; the placeholders are exchanged for the texts in one pass over the result. The nonce never
// leaves the process, so no payload can contain a placeholder. Undefined when stringifyWithRaw is not running.
let collected: string[] | undefined;
let form: 'json' | 'bytes' = 'json';

const nonce = randomBytes(16).toString('hex');
const placeholders = new RegExp(`"${nonce}:([0-9]+)"`, 'g');

/** Valid JSON text that stringifyWithRaw inserts as it is. */
export class RawJson {
  readonly text: string;
  readonly #bytes: Buffer | undefined;

  /** `bytes`: what the text stands for, where that is not the text itself (the base64 of something, say). */
  constructor(text: string, bytes?: Buffer) {
    this.text = text;
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes ?? Buffer.from(this.text);
  }

  /** Under a plain JSON.stringify (a log line, say) the value appears, at JSON.parse's precision. */
  toJSON(): unknown {
    if (collected === undefined) return JSON.parse(this.text);
    collected.push(form === 'json' ? this.text : `[${this.bytes.join(',')}]`);
    return `${nonce}:${collected.length - 1}`;
  }
}

/**
 * JSON.stringify with every RawJson inside inserted verbatim. The one exception is a lone surrogate, which
 * UTF-8 cannot carry: it is written as an escape, as JSON.stringify does in strings.
 */
export function stringifyWithRaw(value: unknown): string {
  const outer = collected;
  const texts: string[] = [];
  collected = texts;
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } finally {
    collected = outer;
  }
  if (json === undefined) throw new TypeError('the value has no JSON form');
  if (texts.length === 0) return json;
  return json.replace(placeholders, (_, index: string) => wellFormed(texts[Number(index)]!));
}

function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replace(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** The same with every RawJson as an array of the integers of its bytes. */
export function stringifyWithBytes(value: unknown): string {
  form = 'bytes';
  try {
    return stringifyWithRaw(value);
  } finally {
    form = 'json';
  }
}
