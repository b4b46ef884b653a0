import { WorkMeter } from './work-meter.ts';

export type FilterScope = 'body' | 'headers' | 'query' | 'path';

export interface FilterInput {
  /** The parsed JSON payload. Undefined when the payload is not JSON; no body filter matches then. */
  readonly body: unknown;
  readonly headers: Readonly<Record<string, readonly string[] | string>>;
  /** The raw query string, with or without the leading question mark. */
  readonly query: string;
  readonly path: string;
}

type Fields = Record<string, unknown>;

/**
 * One event as filters see it. Create one per event and pass it to every filter. Header names are lowered and
 * the query string is parsed at most once, and the cost of all filters is counted together.
 */
export class FilterSubject {
  readonly meter = new WorkMeter();
  readonly #input: FilterInput;
  #body: unknown;
  #headers: Fields | undefined;
  #query: Fields | undefined;
  #path: Fields | undefined;

  constructor(input: FilterInput) {
    this.#input = input;
  }

  /** The payload, parsed before a filter reads it. */
  give(body: unknown): void {
    this.#body = body;
  }

  root(scope: FilterScope): unknown {
    if (scope === 'body') return (this.#body ??= this.#input.body);
    if (scope === 'headers') return (this.#headers ??= firstValues(this.#input.headers));
    if (scope === 'query') return (this.#query ??= parseQuery(this.#input.query));
    return (this.#path ??= { path: this.#input.path });
  }
}

// Both builders fill objects without a prototype, so `__proto__` is an ordinary name.

function firstValues(headers: FilterInput['headers']): Fields {
  const fields: Fields = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    const first = typeof value === 'string' ? value : value[0];
    const lowered = name.toLowerCase();
    if (first !== undefined && !(lowered in fields)) fields[lowered] = first;
  }
  return fields;
}

function parseQuery(query: string): Fields {
  const fields: Fields = Object.create(null);
  for (const [name, value] of new URLSearchParams(query)) {
    const known = fields[name];
    if (known === undefined) fields[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else fields[name] = [known, value];
  }
  return fields;
}
