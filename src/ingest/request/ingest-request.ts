/** One incoming webhook as it was received: the bytes before any decoding, the names as Node gives them. */
export interface IngestRequest {
  method: string;
  path: string;
  rawQuery: string;
  /** Names in lower case; a name sent more than once is an array or, as Node does for most, joined by commas. */
  headers: IngestHeaders;
  body: Buffer;
  /** The public URL the sender used, query included: some providers sign it. */
  url: string;
}

export type IngestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The values of a header, or none. Own properties only: a header may be called `constructor`. */
export function headerValues(headers: IngestHeaders, name: string): readonly string[] {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
