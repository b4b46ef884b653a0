import { type StoredRecord, templateField, unpacked } from './packed-attempt.ts';

/** Attempts in exported files: with all of their values, so that a file needs no template. */
type Row = Record<string, unknown>;

/** The column of a row `e` with the text of its template, for tables whose rows hold a record. */
export function templateColumn(columns: readonly string[]): string | undefined {
  const id = ['template_id', 'attempt_template_id'].find((name) => columns.includes(name));
  return id && templateField('e', id);
}

/** The columns of a delivery with its attempt, and their names in the attempt. */
const KEPT = new Map([
  ['attempt_id', 'id'],
  ['attempt_at', 'requested_at'],
  ['attempt_succeeded', 'succeeded'],
  ['attempt_template_id', 'template_id'],
  ['attempt_record', 'record'],
  ['attempt_body', 'response_body'],
  ['template', 'template'],
]);

/** A row of `delivery_attempts` with the parts of its record, a row of `event_deliveries` with its attempt as one object. */
export function exportedRow(row: Row): Row {
  if ('record' in row) return exportedAttempt(row);
  if (!('attempt_record' in row)) return row;
  const fields = Object.entries(row);
  const rest = Object.fromEntries(fields.filter(([name]) => !KEPT.has(name)));
  if (row['attempt_id'] === null) return { ...rest, attempt: null };
  const kept = fields.flatMap(([name, value]) => (KEPT.has(name) ? [[KEPT.get(name), value]] : []));
  const attempt: Row = Object.fromEntries([['delivery_id', row['id']], ...kept]);
  return { ...rest, attempt: exportedAttempt(attempt) };
}

const PACKED = new Set(['template_id', 'record', 'template']);

function exportedAttempt(row: Row): Row {
  const { ipAddress, httpStatus, requestHeaders, responseHeaders, ...parts } = unpacked(
    row as unknown as StoredRecord,
  );
  return {
    ...Object.fromEntries(Object.entries(row).filter(([name]) => !PACKED.has(name))),
    ...parts,
    ip_address: ipAddress,
    http_status: httpStatus,
    request_headers: requestHeaders,
    response_headers: responseHeaders,
  };
}
