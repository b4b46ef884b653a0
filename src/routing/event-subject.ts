import { FilterSubject } from '../matcher/filter-subject.ts';

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
export function eventSubject(event: FilterableEvent): FilterSubject {
  let body: unknown;
  let isParsed = false;
  return new FilterSubject({
    get body() {
      if (!isParsed) {
        isParsed = true;
        body = event.contentType === null ? JSON.parse(event.payload.toString()) : undefined;
      }
      return body;
    },
    headers: event.headers,
    query: event.urlQueryParams ?? '',
    path: event.urlPath ?? '',
  });
}
