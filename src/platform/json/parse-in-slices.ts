import { nextTurn } from '../time/next-turn.ts';
import { endOfString } from './cut-json.ts';

/**
 * JSON.parse for large texts, with a turn of the event loop after each slice: the result is the same, and so are the texts
 * that it accepts. One pass finds the commas. At a comma, a slice later, the complete members of every open list and
 * object are parsed by JSON.parse and joined to it. A slice that is parsed exceeds SLICE_CHARS by one text or number at
 * most, because those have no commas. The pass itself pauses in them too.
 */
export const SLICE_CHARS = 32 * 1024;
/** Smaller JSON is read in one turn, which costs a third. */
export const LARGE_JSON = 128 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BLANK = /^[ \t\n\r]*$/;

type Json = unknown[] | Record<string, unknown>;

/** An open list or object. */
interface Open {
  isList: boolean;
  at: number;
  /** Where its members begin that are not joined yet. */
  from: number;
  /** Where its newest member begins: after the newest comma. */
  memberAt: number;
  /** The result so far. Undefined: none of it is joined yet, and it is parsed together with what it is in. */
  value: Json | undefined;
  /** Its newest member is joined. Only whitespace may stand between it and the next comma. */
  isMemberJoined: boolean;
}

export async function parseInSlices(text: string, options: Partial<SliceOptions> = {}): Promise<unknown> {
  const slices = new Slices(text, { sliceChars: SLICE_CHARS, parse: JSON.parse, ...options });
  do await nextTurn();
  while (slices.next());
  return slices.result();
}

interface SliceOptions {
  sliceChars: number;
  /** Parses a slice. */
  parse(json: string): unknown;
}

class Slices {
  readonly #text: string;
  readonly #options: SliceOptions;
  readonly #open: Open[] = [];
  #at = 0;
  #isInString = false;
  #joinedAt = 0;
  /** The outermost list or object, once a part of it is joined, and where it ends. */
  #root: { value: Json; end: number } | undefined;

  constructor(text: string, options: SliceOptions) {
    this.#text = text;
    this.#options = options;
  }

  /** Goes on by a slice. False: that was the last one. */
  next(): boolean {
    const text = this.#text;
    const full = this.#joinedAt + this.#options.sliceChars;
    const until = Math.min(text.length, this.#at + 2 * this.#options.sliceChars);
    let at = this.#at;
    while (at < until) {
      const code = text.charCodeAt(at);
      if (this.#isInString || code === QUOTE) at = this.#passString(at, until);
      else if (code === OPEN_LIST || code === OPEN_OBJECT) this.#enter(at++, code === OPEN_LIST);
      else if (code === CLOSE_LIST || code === CLOSE_OBJECT) this.#leave(at++, code === CLOSE_LIST);
      else if (code === COMMA) {
        this.#comma(at++, at > full);
        if (at <= full) continue;
        this.#joinedAt = at;
        break;
      } else at++;
    }
    this.#at = at;
    return at < text.length;
  }

  /** Returns where it ends, or where it goes on in the next slice. */
  #passString(at: number, until: number): number {
    const end = endOfString(this.#text, this.#isInString ? at : at + 1, until);
    this.#isInString = end < 0;
    return Math.abs(end);
  }

  result(): unknown {
    const text = this.#text;
    if (this.#open.length > 0) throw notJson(text.length);
    // Without a comma that ended a slice.
    if (this.#root === undefined) return this.#options.parse(text);
    if (!BLANK.test(text.slice(this.#root.end))) throw notJson(this.#root.end);
    return this.#root.value;
  }

  #enter(at: number, isList: boolean): void {
    const from = at + 1;
    this.#open.push({ isList, at, from, memberAt: from, value: undefined, isMemberJoined: false });
  }

  #leave(at: number, isList: boolean): void {
    const open = this.#open.pop();
    if (open === undefined) throw notJson(at);
    if (open.value === undefined) return;
    if (open.isList !== isList) throw notJson(at);
    this.#join(open, at);
    const outer = this.#open.at(-1);
    if (outer === undefined) this.#root = { value: open.value, end: at + 1 };
    else Object.assign(outer, { from: at + 1, isMemberJoined: true });
  }

  #comma(at: number, isSliceFull: boolean): void {
    const open = this.#open.at(-1);
    if (open === undefined) throw notJson(at);
    if (isSliceFull) for (const [depth, one] of this.#open.entries()) this.#begin(one, this.#open[depth - 1]);
    if (isSliceFull || open.isMemberJoined) this.#join(open, at);
    open.memberAt = at + 1;
  }

  /** Makes the result of a list or object that is still open, and joins it to the one that it is in. */
  #begin(open: Open, outer: Open | undefined): void {
    if (open.value !== undefined) return;
    open.value = open.isList ? [] : {};
    if (outer === undefined) {
      if (!BLANK.test(this.#text.slice(0, open.at))) throw notJson(0);
      return;
    }
    if (outer.memberAt > outer.from) this.#join(outer, outer.memberAt - 1);
    const before = this.#text.slice(outer.memberAt, open.at);
    if (!outer.isList) this.#add(outer, this.#parsed(`{${before}null}`, outer.memberAt), open.value);
    else if (BLANK.test(before)) (outer.value as unknown[]).push(open.value);
    else throw notJson(outer.memberAt);
  }

  /** Joins the members up to here, which a comma or the end follows. */
  #join(open: Open, end: number): void {
    const { from, isMemberJoined } = open;
    const members = this.#text.slice(from, end);
    open.from = end + 1;
    open.isMemberJoined = false;
    if (isMemberJoined) {
      if (!BLANK.test(members)) throw notJson(from);
    } else if (BLANK.test(members)) throw notJson(end);
    else if (open.isList)
      for (const item of this.#parsed(`[${members}]`, from) as unknown[])
        (open.value as unknown[]).push(item);
    else this.#add(open, this.#parsed(`{${members}}`, from));
  }

  /** `value`: instead of that of each member. */
  #add({ value: object }: Open, members: unknown, value?: Json): void {
    // An assignment to this name would set the prototype.
    for (const [name, own] of Object.entries(members as object))
      if (name === '__proto__')
        Object.defineProperty(object, name, {
          value: value ?? own,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      else (object as Record<string, unknown>)[name] = value ?? own;
  }

  #parsed(part: string, at: number): unknown {
    try {
      return this.#options.parse(part);
    } catch (error) {
      throw notJson(at, error);
    }
  }
}

const notJson = (at: number, cause?: unknown): SyntaxError =>
  new SyntaxError(`it is not JSON near character ${at}`, { cause });
