import type { FieldProblem } from '../domain/errors.ts';
import { type CompiledSchema, compileSchema } from '../json-schema/compile-schema.ts';

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

  /** Empty: the event is as its type says, or the type says nothing. */
  problemsOf({ eventType, payload, contentType, functionFailure }: CheckedEvent): readonly FieldProblem[] {
    const entry = this.#types.get(eventType);
    if (entry === undefined || functionFailure !== null) return NONE;
    if (entry.compiled === undefined) entry.compiled = compiledOrNull(entry.text);
    if (entry.compiled === null) return NONE;
    if (contentType !== null) return [{ field: 'data', problem: 'is not JSON, and its type has a schema' }];
    const problems = entry.compiled.check(JSON.parse(payload.toString()));
    return problems ?? [{ field: 'data', problem: 'needs more work than allowed to be checked' }];
  }
}

/** Schemas are checked when they are written, so this one is of a node that did not, or of before the setting. */
function compiledOrNull(text: string): CompiledSchema | null {
  const compiled = compileSchema(JSON.parse(text) as Record<string, unknown>);
  return typeof compiled === 'string' ? null : compiled;
}
