import { isNotStored, type VisibleHeaders } from '../../domain/credential-headers.ts';
import { headerValues, type IngestHeaders } from '../request/ingest-request.ts';
import { type VerifiedSource, verifierHeaders } from '../verify/compile-verifier.ts';

/** Of one connection only (RFC 9110, 7.6.1), with the names `Connection` lists: neither stored nor forwarded. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Belong to the delivery's own request and its body, which was decoded on the way. */
const ownOfDelivery = [
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'expect',
];

/** Names as the wire shows them (`X-Github-Event`), each with its values. */
export type EventHeaders = Record<string, string[]>;

export interface HeaderPolicy {
  /** For filters and functions: all but well-known credentials and what carries the verifier's proof. */
  stored: (headers: IngestHeaders, visible: VisibleHeaders) => EventHeaders;
  /** Sent on with each delivery: those the source lists and no others. Listing one is consent, even to a credential. */
  forwarded: (headers: IngestHeaders) => EventHeaders;
  /** Names that carry the sender's credential to this source, and so to nobody else's eyes. */
  credentials: readonly string[];
}

export function compileHeaderPolicy(
  source: VerifiedSource & { forward_headers: readonly string[] },
): HeaderPolicy {
  const notStored = new Set([...hopByHop, ...verifierHeaders(source), 'host']);
  const notForwarded = new Set([...hopByHop, ...ownOfDelivery]);
  const listed = new Set(source.forward_headers.map((name) => name.trim().toLowerCase()));
  const forwardable = [...listed].filter((name) => !notForwarded.has(name));
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
