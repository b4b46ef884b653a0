// Byte-exact parts of JSON. JSON.parse loses number text (1.0, 1e400, 12345678901234567890), escapes and duplicate
// keys, so payloads stay text and these functions work on that text.
//
// Every text given here is valid JSON: JSON.parse accepted it before. The scans are single passes that jump
// over strings and use a depth counter instead of recursion, so hostile nesting costs time linear in length.
import { nextTurn } from '../time/next-turn.ts';

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** So many characters are scanned in one turn of the event loop. */
export const CUT_AT_ONCE = 256 * 1024;

/** The bytes of the text without insignificant whitespace. */
export function compactJson(text: string): Buffer {
  const bytes = Buffer.from(text);
  const whole = { at: 0, kept: 0, isInString: false };
  compact(bytes, whole, bytes.length);
  return keptOf(bytes, whole);
}

/** `compactJson` with a turn of the event loop after each slice of large JSON. */
export async function compactInSlices(text: string, atOnce = CUT_AT_ONCE): Promise<Buffer> {
  const bytes = Buffer.from(text);
  const done = { at: 0, kept: 0, isInString: false };
  while (bytes.length - done.at > atOnce) {
    compact(bytes, done, done.at + atOnce);
    await nextTurn();
  }
  compact(bytes, done, bytes.length);
  return keptOf(bytes, done);
}

interface Compacted {
  at: number;
  kept: number;
  isInString: boolean;
}

function compact(bytes: Buffer, done: Compacted, end: number): void {
  let { at, kept, isInString } = done;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (!isInString && byte <= space) continue;
    bytes[kept++] = byte;
    if (byte === quote) isInString = !isInString;
    else if (byte === backslash) bytes[kept++] = bytes[++at] as number;
  }
  done.at = at;
  done.kept = kept;
  done.isInString = isInString;
}

const keptOf = (bytes: Buffer, { kept }: Compacted): Buffer =>
  kept === bytes.length ? bytes : Buffer.from(bytes.subarray(0, kept));

/**
 * The text of the value under `key` in a JSON object. Undefined when the object has no such key or the text
 * is not an object. As with JSON.parse the last of duplicate keys wins, however each is escaped.
 */
export function cutTopLevel(text: string, key: string): string | undefined {
  let value: string | undefined;
  walkMembers(text, (name, at) => {
    const end = endOfValue(text, at);
    if (name === key) value = text.slice(at, end);
    return end;
  });
  return value;
}

/** The texts of the values of an object, by name. */
export function cutMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  walkMembers(text, (name, at) => {
    const end = endOfValue(text, at);
    members.set(name, text.slice(at, end));
    return end;
  });
  return members;
}

/** The bytes of the value under `key`, compact. `null` if there is none. */
export async function compactMember(text: string, key: string): Promise<Buffer> {
  if (text.length <= CUT_AT_ONCE) return compactJson(cutTopLevel(text, key) ?? 'null');
  return compactInSlices((await cutInSlices(text, key)) ?? 'null');
}

/** `cutTopLevel` with a turn of the event loop after each slice of large JSON. */
export async function cutInSlices(
  text: string,
  key: string,
  atOnce = CUT_AT_ONCE,
): Promise<string | undefined> {
  const pause: Pause = { until: atOnce, at: 0, depth: 0, isInString: false };
  const otherWork = async () => {
    await nextTurn();
    pause.until = pause.at + atOnce;
  };
  let value: string | undefined;
  let at = skipWhitespace(text, 0);
  if (text.charCodeAt(at) !== openBrace) return undefined;
  at = skipWhitespace(text, at + 1);
  while (text.charCodeAt(at) === quote) {
    let end = endOfValue(text, at, pause);
    for (; end === PAUSED; end = endOfValue(text, pause.at, pause)) await otherWork();
    const name = unescapedKey(text.slice(at, end));
    const from = skipWhitespace(text, skipWhitespace(text, end) + 1);
    end = endOfValue(text, from, pause);
    for (; end === PAUSED; end = endOfValue(text, pause.at, pause)) await otherWork();
    if (name === key) value = text.slice(from, end);
    at = skipWhitespace(text, end);
    if (text.charCodeAt(at) === comma) at = skipWhitespace(text, at + 1);
  }
  return value;
}

/** The texts of the items of the array under `key`. Empty when there is no such array. */
export function cutItems(text: string, key: string): string[] {
  let items: string[] = [];
  walkMembers(text, (name, at) => {
    if (name !== key) return endOfValue(text, at);
    items = [];
    return text.charCodeAt(at) === openBracket ? takeItems(text, at, items) : endOfValue(text, at);
  });
  return items;
}

/** Calls `read` with the name of each member of an object and where its value begins. It returns where that ends. */
function walkMembers(text: string, read: (name: string, valueAt: number) => number): void {
  let at = skipWhitespace(text, 0);
  if (text.charCodeAt(at) !== openBrace) return;
  at = skipWhitespace(text, at + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = endOfString(text, at + 1);
    const valueAt = skipWhitespace(text, skipWhitespace(text, keyEnd) + 1);
    at = skipWhitespace(text, read(unescapedKey(text.slice(at, keyEnd)), valueAt));
    if (text.charCodeAt(at) === comma) at = skipWhitespace(text, at + 1);
  }
}

/** Adds the items of the array at `from`. Returns where it ends. */
function takeItems(text: string, from: number, items: string[]): number {
  let at = skipWhitespace(text, from + 1);
  while (text.charCodeAt(at) !== closeBracket) {
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    at = skipWhitespace(text, end);
    if (text.charCodeAt(at) === comma) at = skipWhitespace(text, at + 1);
  }
  return at + 1;
}

function unescapedKey(literal: string): string {
  return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}

function skipWhitespace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= space) at++;
  return at;
}

/** Where a value goes on that is passed in slices. */
interface Pause {
  /** It pauses here or a little later. */
  until: number;
  at: number;
  depth: number;
  isInString: boolean;
}

const PAUSED = -1;
const WHOLE: Readonly<Pause> = { until: Number.POSITIVE_INFINITY, at: 0, depth: 0, isInString: false };

/** PAUSED: it goes on there. */
function endOfValue(text: string, from: number, pause?: Pause): number {
  const given = pause ?? WHOLE;
  const until = Math.min(text.length, given.until);
  let { depth, isInString } = given;
  let isEnd = false;
  let at = from;
  while (!isEnd && at < until) {
    const code = text.charCodeAt(at);
    if (isInString || code === quote) {
      at = endOfString(text, isInString ? at : at + 1, until);
      isInString = at < 0;
      if (isInString) at = -at;
      else isEnd = depth === 0;
    } else if (code === openBrace || code === openBracket) {
      depth++;
      at++;
    } else if (code === closeBrace || code === closeBracket) {
      // At depth 0 this closes the object around a number or word, which ended just before.
      isEnd = depth <= 1;
      if (depth-- > 0) at++;
    } else if (depth === 0 && (code === comma || code <= space)) {
      isEnd = true;
    } else {
      at++;
    }
  }
  if (pause === undefined) return at;
  Object.assign(pause, { at, depth: isEnd ? 0 : depth, isInString });
  return isEnd || at >= text.length ? at : PAUSED;
}

/** After its closing quote. Negative: where it goes on, after `until`. */
export function endOfString(text: string, from: number, until = text.length): number {
  let at = from;
  do {
    const quoteAt = text.indexOf('"', at);
    if (quoteAt === -1) throw new SyntaxError('it is not JSON: a text does not end');
    at = quoteAt + 1;
    if (!isEscaped(text, quoteAt)) return at;
  } while (at < until);
  return -at;
}

function isEscaped(text: string, quoteAt: number): boolean {
  let at = quoteAt - 1;
  while (text.charCodeAt(at) === backslash) at--;
  return (quoteAt - at) % 2 === 0;
}
