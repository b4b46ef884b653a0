/** One incoming webhook as received: the bytes before any decoding, the header names as Node gives them. */
export interface IngestRequest {
  method: string;
  path: string;
  rawQuery: string;
  /** Names in lower case. A repeated name is an array or, for most names, joined by commas by Node. */
  headers: IngestHeaders;
  body: Buffer;
  /** The public URL the sender used, query included, because some providers sign it. */
  url: string;
}

export type IngestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The values of a header, or none. Own properties only, because a header may be called `constructor`. */
export function headerValues(headers: IngestHeaders, name: string): readonly string[] {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
