import { nextTurn } from '../time/next-turn.ts';

/**
 * Counts the depth and the names of JSON in one pass over its bytes, chunk by chunk, before anything is parsed. Each
 * occurrence of a name counts, and each two lists or objects count as a name. It only counts, and does not validate: the
 * counts of JSON are exact, and those of other bytes mean nothing.
 */
export interface JsonBounds {
  depth: number;
  names: number;
}

/** The bound that is exceeded. */
export type Excess = keyof JsonBounds;

const SPACE = 0x20;
/** A byte order mark is not of ASCII. */
const ASCII = 0x7f;
const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
/** Sets `{` and `[` equal, and `}` and `]`: they differ in this bit. */
const WITHOUT_BRACE_BIT = 0xdf;
/** The shortest name with its value and its comma: `"":0,`. */
const NAME_BYTES = 5;

export class JsonShape {
  readonly #bounds: JsonBounds;
  #depth = 0;
  #names = 0;
  #opened = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** Takes the next chunk. Undefined: so far it is within the bounds. */
  push(bytes: Uint8Array): Excess | undefined {
    const { depth: mostDepth, names: mostNames } = this.#bounds;
    let depth = this.#depth;
    let names = this.#names;
    let opened = this.#opened;
    let at = this.#isInString ? this.#passString(bytes, 0) : 0;
    while (at < bytes.length) {
      const byte = bytes[at++] as number;
      if (byte === QUOTE) at = this.#passString(bytes, at);
      else if (byte === COLON) {
        if (++names > mostNames) return 'names';
      } else if ((byte & WITHOUT_BRACE_BIT) === BRACKET) {
        if (++depth > mostDepth) return 'depth';
        if (++opened > 2 * mostNames) return 'names';
      } else if ((byte & WITHOUT_BRACE_BIT) === CLOSING_BRACKET) depth--;
    }
    this.#depth = depth;
    this.#names = names;
    this.#opened = opened;
    return undefined;
  }

  /** Returns where the string ends, or the end of the chunk. */
  #passString(bytes: Uint8Array, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    while (at < bytes.length) {
      const byte = bytes[at++];
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) {
        this.#isInString = false;
        this.#isEscaped = false;
        return at;
      }
    }
    this.#isInString = true;
    // An escape that ends the chunk concerns the first byte of the next one.
    this.#isEscaped = at > bytes.length;
    return bytes.length;
  }
}

/** The bound that whole JSON exceeds. Most bodies are so small that a look at their brackets says that it cannot. */
export function excessOf(json: Uint8Array, bounds: JsonBounds): Excess | undefined {
  if (!beginsNested(json)) return undefined;
  const isSmall = json.length <= bounds.depth || json.length < NAME_BYTES * bounds.names;
  if (isSmall && opensAtMost(json, bounds.depth)) return undefined;
  return new JsonShape(bounds).push(json);
}

/** So many bytes are scanned in one turn of the event loop. */
export const SCANNED_AT_ONCE = 256 * 1024;

/** `excessOf` with a turn of the event loop after each slice. */
export async function excessInSlices(json: Uint8Array, bounds: JsonBounds): Promise<Excess | undefined> {
  if (json.length <= SCANNED_AT_ONCE) return excessOf(json, bounds);
  if (!beginsNested(json)) return undefined;
  const shape = new JsonShape(bounds);
  for (let at = 0; at < json.length; at += SCANNED_AT_ONCE) {
    await nextTurn();
    const excess = shape.push(json.subarray(at, at + SCANNED_AT_ONCE));
    if (excess !== undefined) return excess;
  }
  return undefined;
}

/** Neither a single text or number nor bytes that are no JSON have names. */
function beginsNested(json: Uint8Array): boolean {
  let at = 0;
  while (at < json.length && ((json[at] as number) <= SPACE || (json[at] as number) > ASCII)) at++;
  return ((json[at] ?? 0) & WITHOUT_BRACE_BIT) === BRACKET;
}

/** Brackets in strings count too. */
function opensAtMost(json: Uint8Array, most: number): boolean {
  let opened = 0;
  for (let at = 0; at < json.length; at++)
    if (((json[at] as number) & WITHOUT_BRACE_BIT) === BRACKET) opened++;
  return opened <= most;
}
