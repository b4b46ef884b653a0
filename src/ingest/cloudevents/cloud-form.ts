import type { IngestHeaders } from '../request/ingest-request.ts';

/** How a request carries CloudEvents: as one JSON object, as a list of them, or as headers of the data. */
export type CloudForm = 'structured' | 'batch' | 'binary';

const STRUCTURED = /^application\/cloudevents\+json\s*(;|$)/i;
const BATCH = /^application\/cloudevents-batch\+json\s*(;|$)/i;
const ANY = /^application\/cloudevents/i;

/** Null: it carries none, or in a format other than JSON. Every event pays for this, so it looks at a few headers only. */
export function cloudForm(headers: IngestHeaders): CloudForm | null {
  const type = headers['content-type'];
  if (typeof type === 'string' && ANY.test(type)) {
    if (STRUCTURED.test(type)) return 'structured';
    return BATCH.test(type) ? 'batch' : null;
  }
  const isBinary =
    headers['ce-specversion'] !== undefined ||
    headers['ce-id'] !== undefined ||
    headers['ce-type'] !== undefined ||
    headers['ce-source'] !== undefined;
  return isBinary ? 'binary' : null;
}
