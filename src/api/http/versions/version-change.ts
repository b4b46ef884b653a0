/**
 * Callers may request the format of an earlier API version with `X-Convoy-Version: YYYY-MM-DD`. A change has
 * the version that introduced it. It is reverted for callers of earlier versions, in requests from the oldest
 * change to the newest, in responses in reverse. Changes are pure and apply to one resource each.
 */
export interface VersionChange {
  version: string;
  /** Converts the body of an earlier caller to the current version. */
  request?(body: Fields): Fields;
  /** Converts the resource of the current version for an earlier caller. */
  response?(resource: Fields): Fields;
}

export type Fields = Record<string, unknown>;

export const API_VERSION = '2025-11-24';
const FIRST_VERSION = '0001-01-01';

/** No header means the current version. A header that is not a date counts as before the first version. */
export function callerVersion(header: string | string[] | undefined): string {
  const asked = Array.isArray(header) ? header[0] : header;
  if (asked === undefined || asked === '') return API_VERSION;
  return /^\d{4}-\d\d-\d\d$/.test(asked) ? asked : FIRST_VERSION;
}

export function upgradeRequest(changes: readonly VersionChange[], version: string, body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  return changes
    .filter((change) => change.version > version)
    .reduce((fields, change) => change.request?.(fields) ?? fields, body as Fields);
}

/** One resource, or a page of them. */
export function downgradeResponse(
  changes: readonly VersionChange[],
  version: string,
  data: unknown,
): unknown {
  const undone = changes.filter((change) => change.version > version).toReversed();
  if (undone.length === 0) return data;
  const downgrade = (resource: Fields) =>
    undone.reduce((fields, change) => change.response?.(fields) ?? fields, resource);
  const page = data as { content?: Fields[] };
  return page.content === undefined
    ? downgrade(data as Fields)
    : { ...page, content: page.content.map(downgrade) };
}
