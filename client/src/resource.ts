import type { Event, WholeEvent } from './generated/types.ts';
import { List, type Page } from './list.ts';
import type { Answer, Call, Caller, CallOptions } from './request.ts';
import { follow, type StreamMessage } from './stream.ts';

/** The parts of a call besides its method and path. */
type Extra = Partial<Pick<Call, 'body' | 'query' | 'options'>> & {
  /** A second execution changes nothing. True of every GET and DELETE. */
  repeatable?: boolean;
  /** It creates something, once per Idempotency-Key, so that it can be sent again. */
  creates?: boolean;
};

/** The calls of one project or of one portal link. */
export class Scope {
  readonly #caller: Caller;
  readonly #base: string | undefined;

  constructor(caller: Caller, base: string | undefined) {
    this.#caller = caller;
    this.#base = base;
  }

  /** A path inside the project: at`/endpoints/${endpointId}`. */
  at(parts: TemplateStringsArray, ...values: string[]): string {
    if (this.#base === undefined)
      throw new TypeError('This call needs a project: new Posthorn({ project }) or posthorn.inProject(id).');
    return this.#base + path(parts, ...values);
  }

  stream(at: string, signal: AbortSignal): AsyncGenerator<StreamMessage> {
    return follow(this.#caller, at, signal);
  }

  async data<T>(method: Call['method'], at: string, extra: Extra = {}): Promise<T> {
    return (await this.#call(method, at, extra)).data as T;
  }

  /** The job that the call started. */
  async job<T>(method: Call['method'], at: string, extra: Extra = {}): Promise<T> {
    return (await this.#call(method, at, extra)).job as T;
  }

  /** The whole answer, for calls that say more than `data`. */
  async answer<T>(method: Call['method'], at: string, extra: Extra = {}): Promise<T> {
    return (await this.#call(method, at, extra)) as T;
  }

  /** The version of the project's config that the answer of a read names. */
  async configVersion(at: string, options: CallOptions | undefined): Promise<number> {
    const { configVersion } = await this.#call('GET', at, { options });
    if (configVersion === undefined) throw new TypeError(`The answer of ${at} has no version.`);
    return configVersion;
  }

  list<T>(at: string, query: object, options: CallOptions | undefined): List<T> {
    return new List(query, (asked) => this.data<Page<T>>('GET', at, { query: asked, options }));
  }

  /**
   * Sends an event with an idempotency key, so that it can be sent again. With a key made here, a duplicate
   * is this call's own event, stored by an attempt whose answer was lost: that one is the result.
   */
  async event(
    at: string,
    body: { idempotency_key?: string | null },
    options: CallOptions | undefined,
  ): Promise<Event> {
    const isOwnKey = (body.idempotency_key ?? '') === '';
    const keyed = isOwnKey ? { ...body, idempotency_key: crypto.randomUUID() } : body;
    const event = await this.data<Event>('POST', at, { body: keyed, repeatable: true, options });
    if (!isOwnKey || !event.is_duplicate_event || event.duplicate_of === '') return event;
    return this.data<WholeEvent>('GET', this.at`/events/${event.duplicate_of}`, { options });
  }

  #call(method: Call['method'], at: string, extra: Extra): Promise<Answer> {
    const repeatable = extra.repeatable ?? extra.creates ?? (method === 'GET' || method === 'DELETE');
    return this.#caller.call({ ...extra, method, path: at, repeatable });
  }
}

/** The operations on one kind of thing. The generated classes extend it. */
export class Resource {
  protected readonly scope: Scope;

  constructor(scope: Scope) {
    this.scope = scope;
  }
}

/** A path with its values encoded. A value must not change which operation is called. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((before, part, index) => {
    const value = values[index - 1];
    if (value === undefined || value === '' || value === '.' || value === '..')
      throw new TypeError(`An id is missing in ${before}.`);
    return before + encodeURIComponent(value) + part;
  });
}

/** A body whose fields may be one string in place of a list. The server takes lists. */
export function asLists<T extends object>(body: T, ...fields: (keyof T)[]): T {
  const single = fields.filter((field) => typeof body[field] === 'string');
  return { ...body, ...Object.fromEntries(single.map((field) => [field, [body[field]]])) };
}
