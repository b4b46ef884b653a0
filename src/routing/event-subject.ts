import { type FilterInput, FilterSubject } from '../matcher/filter-subject.ts';

/** The fields of an event that filters use. */
export interface FilterableEvent {
  payload: Buffer;
  /** Null: JSON. Otherwise the payload's own content type. */
  contentType: string | null;
  headers: Readonly<Record<string, readonly string[]>>;
  urlQueryParams: string | null;
  urlPath: string | null;
}

/** An event as filters see it. The payload is parsed once, when a filter first uses the body. */
export const eventSubject = (event: FilterableEvent): FilterSubject =>
  new FilterSubject(new EventInput(event));

class EventInput implements FilterInput {
  readonly #event: FilterableEvent;

  constructor(event: FilterableEvent) {
    this.#event = event;
  }

  get body(): unknown {
    const { contentType, payload } = this.#event;
    return contentType === null ? JSON.parse(payload.toString()) : undefined;
  }

  get headers(): FilterInput['headers'] {
    return this.#event.headers;
  }

  get query(): string {
    return this.#event.urlQueryParams ?? '';
  }

  get path(): string {
    return this.#event.urlPath ?? '';
  }
}
