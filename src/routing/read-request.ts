import { cutTopLevel } from '../platform/json/cut-json.ts';
import { isObject } from '../platform/json/is-object.ts';
import { checkHeaders, checkPath, checkQuery, type FunctionRequest } from './function-request.ts';
import { hideValues, shownValues } from './hidden-variables.ts';

/** The result of a function of the second contract. */
export type ReadRequest =
  /** `body` is JSON. Null: the payload is sent as it is. */
  | { kind: 'request'; body: string | null; request: FunctionRequest }
  | { kind: 'cancelled'; reason: string }
  | { kind: 'refused'; message: string };

const FIELDS = ['body', 'headers', 'path', 'query', 'cancel'];
const MAX_REASON_CHARS = 500;
const NO_REASON = 'no reason given';

/** `output` is JSON that the sandbox made, so no name occurs twice in it. */
export function readRequest(output: string, variables: Readonly<Record<string, string>>): ReadRequest {
  const value: unknown = JSON.parse(output);
  const refused = (message: string): ReadRequest => ({ kind: 'refused', message });
  if (!isObject(value)) return refused(`version 2 returns an object with ${FIELDS.join(', ')}`);
  const unknown = Object.keys(value).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined)
    return refused(`${JSON.stringify(unknown.slice(0, 64))} is none of ${FIELDS.join(', ')}`);
  const { cancel = false } = value;
  if (cancel === true || typeof cancel === 'string')
    return { kind: 'cancelled', reason: hideValues(reasonOf(cancel), variables) };
  if (cancel !== false) return refused('cancel must be true, false or a text');
  const headers = checkHeaders(value['headers']);
  if (headers.message !== null) return refused(headers.message);
  const path = checkPath(value['path']);
  if (path.message !== null) return refused(path.message);
  const query = checkQuery(value['query']);
  if (query.message !== null) return refused(query.message);
  const parts = [path.value ?? '', ...Object.values(headers.value), ...Object.entries(query.value).flat()];
  const secrets = shownValues(parts, variables);
  const request = { headers: headers.value, path: path.value, query: query.value, secrets };
  return { kind: 'request', body: cutTopLevel(output, 'body') ?? null, request };
}

/** One line. PostgreSQL stores no zero bytes and no halves of surrogate pairs. */
function reasonOf(cancel: string | true): string {
  if (cancel === true) return NO_REASON;
  const line = cancel.slice(0, MAX_REASON_CHARS).toWellFormed();
  // oxlint-disable-next-line no-control-regex -- control characters are what it removes
  return line.replaceAll(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim() || NO_REASON;
}
