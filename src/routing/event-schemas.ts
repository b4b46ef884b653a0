import type { FieldProblem } from '../domain/errors.ts';
import { type CompiledSchema, compileSchema } from '../json-schema/compile-schema.ts';
import { WorkMeter } from '../matcher/work-meter.ts';
import { LARGE_JSON, parseInSlices } from '../platform/json/parse-in-slices.ts';
import { inSlices, nextTurn } from '../platform/time/next-turn.ts';

/**
 * The schemas of a project's event types, for checks of accepted events. Each is compiled when the first event of its type
 * comes, once per version of the schema: a change of other config takes the compiled ones along.
 */
export interface StoredSchema {
  name: string;
  /** The schema as it is stored. */
  text: string;
}

interface Entry {
  text: string;
  /** Null: it cannot be used. Undefined: not compiled yet. */
  compiled: CompiledSchema | null | undefined;
}

interface CheckedEvent {
  eventType: string;
  payload: Buffer;
  contentType: string | null;
  functionFailure: string | null;
}

const NONE: readonly FieldProblem[] = [];
/** The work of a group: that of the largest events, and what ordinary checks of its payloads need. */
const GROUP_STEPS = 10_000_000;
const STEPS_PER_BYTE = 4;
/** After about 1 ms of checks other work has its turn. */
const STEPS_AT_ONCE = 50_000;

export class EventSchemas {
  readonly mode: 'warn' | 'refuse';
  readonly #types: ReadonlyMap<string, Entry>;

  constructor(mode: 'warn' | 'refuse', rows: readonly StoredSchema[], before?: EventSchemas) {
    this.mode = mode;
    this.#types = new Map(
      rows.map(({ name, text }) => {
        const known = before === undefined ? undefined : before.#types.get(name);
        return [name, known?.text === text ? known : { text, compiled: undefined }];
      }),
    );
  }

  /**
   * The problems of each event of a group. They share the work of their checks, and each has at least a little. A check
   * that does not end is a problem of its event. Other work has its turn in between.
   */
  async problemsOf(events: readonly CheckedEvent[]): Promise<(readonly FieldProblem[])[]> {
    const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0);
    const meter = new WorkMeter(GROUP_STEPS + bytes * STEPS_PER_BYTE);
    const found: (readonly FieldProblem[])[] = [];
    let parsed = 0;
    let pausedAt = 0;
    for (const event of events) {
      if (meter.used + parsed - pausedAt >= STEPS_AT_ONCE) {
        await nextTurn();
        pausedAt = meter.used + parsed;
      }
      found.push(await this.#problemsOf(event, meter));
      parsed += event.payload.length;
    }
    return found;
  }

  /** Empty: the event is as its type says, or the type says nothing. */
  async #problemsOf(
    { eventType, payload, contentType, functionFailure }: CheckedEvent,
    meter: WorkMeter,
  ): Promise<readonly FieldProblem[]> {
    const entry = this.#types.get(eventType);
    if (entry === undefined || functionFailure !== null) return NONE;
    if (entry.compiled === undefined) entry.compiled = compiledOrNull(entry.text);
    if (entry.compiled === null) return NONE;
    if (contentType !== null) return [{ field: 'data', problem: 'is not JSON, and its type has a schema' }];
    const text = payload.toString();
    const value = text.length > LARGE_JSON ? await parseInSlices(text) : (JSON.parse(text) as unknown);
    const problems = await inSlices(entry.compiled.check(value, meter));
    return problems ?? [{ field: 'data', problem: 'needs more work than allowed to be checked' }];
  }
}

/** Schemas are checked when they are written, so this one is of a node that did not, or of before the setting. */
function compiledOrNull(text: string): CompiledSchema | null {
  const compiled = compileSchema(JSON.parse(text) as Record<string, unknown>);
  return typeof compiled === 'string' ? null : compiled;
}
