import { isNotStored, type VisibleHeaders } from '../../domain/config/credential-headers.ts';
import { HOP_BY_HOP, isConnectionHeader } from '../../domain/http-header.ts';
import { headerValues, type IngestHeaders } from '../request/ingest-request.ts';
import { type VerifiedSource, verifierHeaders } from '../verify/compile-verifier.ts';

/** Headers of the body of the delivery's own request. The received one was decoded. */
const ofBody: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'accept-encoding']);

/** Names as on the wire (`X-Github-Event`), each with its values. */
export type EventHeaders = Record<string, string[]>;

export interface HeaderPolicy {
  /** For filters and functions: all except well-known credentials and the verifier's header. */
  stored: (headers: IngestHeaders, visible: VisibleHeaders) => EventHeaders;
  /** Sent with each delivery: only those the source lists. Listing a header is consent, even for a credential. */
  forwarded: (headers: IngestHeaders) => EventHeaders;
  /** Names of headers with the sender's credential for this source. They are never shown. */
  credentials: readonly string[];
}

export function compileHeaderPolicy(
  source: VerifiedSource & { forward_headers: readonly string[] },
): HeaderPolicy {
  // Headers of the connection are neither stored nor forwarded, and neither are the names that `Connection` lists.
  const notStored = new Set([...HOP_BY_HOP, ...verifierHeaders(source), 'host']);
  const listed = new Set(source.forward_headers.map((name) => name.trim().toLowerCase()));
  const forwardable = [...listed].filter((name) => !isConnectionHeader(name) && !ofBody.has(name));
  return {
    stored: (headers, visible) => {
      const names = Object.keys(headers).filter(
        (name) => !notStored.has(name) && !isNotStored(name, visible),
      );
      return selectHeaders(headers, names);
    },
    forwarded: (headers) => selectHeaders(headers, forwardable),
    credentials: source.verifier.type === 'api_key' ? verifierHeaders(source) : [],
  };
}

function selectHeaders(headers: IngestHeaders, names: readonly string[]): EventHeaders {
  const nominated = nominatedByConnection(headers);
  const selected: [string, string[]][] = [];
  for (const name of names) {
    const values = headerValues(headers, name);
    if (values.length > 0 && !nominated.has(name)) selected.push([canonicalName(name), [...values]]);
  }
  // Not by assignment: `__proto__` is a legal header name.
  return Object.fromEntries(selected);
}

function nominatedByConnection(headers: IngestHeaders): ReadonlySet<string> {
  const connection = headerValues(headers, 'connection').join(',').toLowerCase();
  return new Set(connection.split(',').map((name) => name.trim()));
}

function canonicalName(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
