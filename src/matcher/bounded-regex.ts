import { RE2JSException, RE2Set } from 're2js';
import { type LongRead, READ_AT_ONCE, type WorkMeter } from './work-meter.ts';

/**
 * A pattern with RE2 semantics, searched unanchored, that cannot stall the process. The engine is linear in
 * the text, but linear is not cheap. It walks the text through states it builds as it goes: 3 to 10 ns per
 * character in a state that exists, about 0.2 us per instruction for a new state. It may keep 8 MB of states
 * per pattern. A pattern that needs too many states is simulated instead, at about 60 ns per instruction and
 * character. Measured: a hostile 500-instruction pattern took 0.6 s on 20 KB. Therefore:
 * - pattern length and program size are bounded on write;
 * - states are bounded to `STATE_BYTES` per pattern;
 * - a search pays for its text and for each state it builds, and simulates only if it can pay for all of it.
 *
 * A search that cannot pay finds nothing, and the meter records that it ran out.
 */
const MAX_PATTERN_CHARS = 1_000;
const MAX_PROGRAM_INSTRUCTIONS = 250;
const STATE_BYTES = 64 * 1024;
const BUILD_STEPS_PER_INSTRUCTION = 10;
const SIMULATION_STEPS_PER_INSTRUCTION = 4;

export interface BoundedRegex {
  search(text: string, meter: WorkMeter): boolean;
}

export type RegexResult = { ok: true; regex: BoundedRegex } | { ok: false; message: string };

export function compileRegex(pattern: string): RegexResult {
  if (pattern.length > MAX_PATTERN_CHARS) {
    return { ok: false, message: `the pattern is longer than ${MAX_PATTERN_CHARS} characters` };
  }
  const set = new RE2Set(RE2Set.UNANCHORED, 0, STATE_BYTES);
  try {
    set.add(pattern);
    set.compile();
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return { ok: false, message: `the pattern is not valid RE2: ${error.message}` };
  }
  const instructions = set.prog.numInst();
  if (instructions > MAX_PROGRAM_INSTRUCTIONS) {
    const size = `${instructions} instructions, more than ${MAX_PROGRAM_INSTRUCTIONS}`;
    return { ok: false, message: `the pattern is too complex: it compiles to ${size}` };
  }
  return { ok: true, regex: meteredSearch(set, instructions) };
}

/** The set's DFA has no hook for costs, so two of its methods are wrapped. A null from them means "give up". */
function meteredSearch(set: RE2Set, instructions: number): BoundedRegex {
  const { dfa } = set;
  const simulationStepsPerChar = instructions * SIMULATION_STEPS_PER_INSTRUCTION;
  let paying: { meter: WorkMeter; chars: number } | undefined;

  const makeState = dfa.makeState.bind(dfa);
  dfa.makeState = (...args: Parameters<typeof makeState>) => {
    const state: { nfaStates: readonly unknown[] } | null = makeState(...args);
    const steps = BUILD_STEPS_PER_INSTRUCTION * (1 + (state?.nfaStates.length ?? 0));
    return paying?.meter.spend(steps) === true ? state : null;
  };

  const matchSet = dfa.matchSet.bind(dfa);
  dfa.matchSet = (...args: Parameters<typeof matchSet>) => {
    // The types of re2js omit the null that requests the simulation.
    const found = matchSet(...args);
    const simulate = (found as number[] | null) === null;
    const refused = simulate && paying?.meter.spend(paying.chars * simulationStepsPerChar) !== true;
    return refused ? [] : found;
  };

  const whole = (text: string, meter: WorkMeter): boolean => {
    paying = { meter, chars: text.length };
    return set.match(text).length > 0;
  };
  function* long(text: string, meter: WorkMeter): LongRead {
    const walk = new Walk(set, text);
    for (let until = READ_AT_ONCE; walk.result === undefined; until += READ_AT_ONCE) {
      paying = { meter, chars: text.length };
      walk.goOn(until);
      if (walk.result === undefined) yield;
    }
    return walk.result ?? whole(text, meter);
  }
  return {
    search(text, meter) {
      if (!meter.spend(text.length)) return false;
      return text.length > READ_AT_ONCE ? meter.read(() => long(text, meter)) : whole(text, meter);
    },
  };
}

const LATIN_1 = 255;
/** The flag of the engine for the begin of a text. */
const BEGIN_OF_TEXT = 4;
const AT_BEGIN = { context: () => BEGIN_OF_TEXT };
const END_OF_TEXT = -1;

/** The engine's walk through the states for one long text, in parts. */
class Walk {
  /** Null: the engine gives up. */
  result: boolean | null | undefined;
  readonly #dfa: RE2Set['dfa'];
  readonly #text: string;
  readonly #search = { resetPos: -1 };
  #state: State | null;
  #at = 0;

  constructor({ dfa }: RE2Set, text: string) {
    this.#dfa = dfa;
    this.#text = text;
    this.#state = dfa.failed ? null : (dfa.start(AT_BEGIN, 0) as State | null);
  }

  /** Walks to this character. */
  goOn(until: number): void {
    const { latin1Class } = this.#dfa;
    const text = this.#text;
    const end = Math.min(until, text.length);
    let state = this.#state;
    while (this.#at < end && state !== null && !isMatch(state)) {
      const rune = text.codePointAt(this.#at) as number;
      const place = (rune <= LATIN_1 ? latin1Class[rune] : this.#dfa.runeClass(rune)) as number;
      state = state.next?.[place] ?? this.#step(state, place, rune);
      this.#at += rune > 0xffff ? 2 : 1;
    }
    if (state !== null && !isMatch(state) && this.#at >= text.length)
      state = this.#step(state, this.#dfa.numClasses, END_OF_TEXT);
    this.#state = state;
    if (state === null) this.result = null;
    else if (isMatch(state)) this.result = true;
    else if (this.#at >= text.length) this.result = false;
  }

  #step(state: State, place: number, rune: number): State | null {
    return this.#dfa.stepOrReset(
      state,
      place,
      rune,
      RE2Set.UNANCHORED,
      this.#at,
      this.#search,
    ) as State | null;
  }
}

interface State {
  isMatch: boolean;
  matchIDs: readonly number[];
  next: readonly (State | null)[] | null;
}

const isMatch = (state: State): boolean => state.isMatch && state.matchIDs.length > 0;
