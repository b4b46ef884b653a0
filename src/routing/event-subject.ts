import { FilterSubject } from '../matcher/filter-subject.ts';

/** What filters see of an event. */
export interface FilterableEvent {
  payload: Buffer;
  /** null: JSON; else the payload's own content type. */
  contentType: string | null;
  headers: Readonly<Record<string, readonly string[]>>;
  urlQueryParams: string | null;
  urlPath: string | null;
}

/** An event as filters see it. The payload is parsed when a filter first looks at the body, and once. */
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
