import type { EndpointHeaders } from '../../domain/config/endpoint.ts';
import type { EndpointAuthentication } from '../../domain/config/endpoint-authentication.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { invalid } from '../../domain/errors.ts';
import {
  isConnectionHeader,
  isDeliveryHeader,
  isHeaderName,
  isHeaderValue,
  OF_CONNECTION,
} from '../../domain/http-header.ts';

/** More would not fit into the 16 KiB that many servers read. */
export const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8192;

type Named = Pick<ProjectConfig, 'request_id_header'> & {
  signature: Pick<ProjectConfig['signature'], 'header'>;
};

/** Whether a delivery has a header of this name from us, in any case. */
function isOurs(name: string, { request_id_header, signature }: Named): boolean {
  const known = name.toLowerCase();
  if (isDeliveryHeader(known)) return true;
  return known === request_id_header.toLowerCase() || known === signature.header.toLowerCase();
}

/** Refuses headers that cannot be sent, or that would replace one of ours. Values are never quoted. */
export function checkEndpointHeaders(headers: EndpointHeaders, config: Named): void {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) throw invalid('headers', `must be at most ${MAX_HEADERS}`);
  const names = new Set<string>();
  let bytes = 0;
  for (const [name, value] of entries) {
    const field = `headers.${name}`;
    if (!isHeaderName(name)) throw invalid(field, 'is not a legal header name');
    if (isConnectionHeader(name)) throw invalid(field, OF_CONNECTION);
    if (name.toLowerCase() === 'user-agent') throw invalid(field, 'is not allowed here; set user_agent');
    if (isOurs(name, config)) throw invalid(field, 'is a header of Posthorn and cannot be replaced');
    if (names.has(name.toLowerCase())) throw invalid(field, 'is given twice');
    if (!isHeaderValue(value)) throw invalid(field, 'contains characters that a header value cannot have');
    names.add(name.toLowerCase());
    bytes += name.length + value.length;
  }
  if (bytes > MAX_HEADER_BYTES)
    throw invalid('headers', `must have at most ${MAX_HEADER_BYTES} bytes in names and values`);
}

/** Refuses a header that the authentication of the endpoint also sends: only one of them could go. */
export function checkAgainstAuthentication(
  headers: EndpointHeaders,
  authentication: EndpointAuthentication | null,
): void {
  if (authentication === null) return;
  const sent = authentication.type === 'api_key' ? authentication.api_key.header_name : 'authorization';
  const clash = Object.keys(headers).find((name) => name.toLowerCase() === sent.toLowerCase());
  if (clash !== undefined) throw invalid(`headers.${clash}`, 'is the header of authentication');
}

/** The headers after an update. A value that the caller saw masked keeps the stored one. */
export function changedHeaders(
  known: EndpointHeaders,
  given: EndpointHeaders,
  mask: string,
): EndpointHeaders {
  const stored = new Map(Object.entries(known).map(([name, value]) => [name.toLowerCase(), value]));
  const entries = Object.entries(given).map(([name, value]) => {
    if (value !== mask) return [name, value];
    const kept = stored.get(name.toLowerCase());
    if (kept === undefined) throw invalid(`headers.${name}`, `has no stored value for ${mask} to keep`);
    return [name, kept];
  });
  return Object.fromEntries(entries) as EndpointHeaders;
}
