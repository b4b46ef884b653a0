import {
  type HeaderOwner,
  HIDDEN,
  isCredential,
  isCredentialName,
  type VisibleHeaders,
} from '../../domain/config/credential-headers.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { Sealer } from '../../platform/sealer.ts';

/**
 * An event's headers as stored: JSON of names and values. Each value of a credential header is `sealed:` and
 * the base64 of a sealed value. A plain value that begins with the same word is sealed too, so the word is
 * unambiguous. Values are opened only for sending or matching.
 */
const MARK = 'sealed:';

type Headers = Readonly<Record<string, readonly string[]>>;

const place = (eventId: string, name: string) => `event ${eventId} header ${name}`;

/** Null if there are none. */
export function storedHeaders(
  sealer: Sealer,
  headers: Headers,
  event: HeaderOwner & { id: string },
): string | null {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return JSON.stringify(
    Object.fromEntries(
      entries.map(([name, values]) => {
        const hides = isCredential(name, event);
        return [
          name,
          values.map((value) =>
            hides || value.startsWith(MARK) ? seal(sealer, value, place(event.id, name)) : value,
          ),
        ];
      }),
    ),
  );
}

export interface OpenedHeaders {
  headers: Record<string, string[]>;
  /** Names, in lower case, of the sealed ones. */
  credentials: string[];
}

export function openHeaders(sealer: Sealer, json: string | null, eventId: string): OpenedHeaders {
  const headers = parse(json);
  const credentials: string[] = [];
  if (json?.includes(`"${MARK}`) !== true) return { headers, credentials };
  for (const [name, values] of Object.entries(headers)) {
    if (!values.some(isSealed)) continue;
    credentials.push(name.toLowerCase());
    headers[name] = values.map((value) =>
      isSealed(value) ? sealer.open(bytes(value), place(eventId, name)) : value,
    );
  }
  return { headers, credentials };
}

/** For people: without the values of credentials. One may stand in clear: its name was visible when it was stored. */
export function shownHeaders(json: string | null, visible: VisibleHeaders): Record<string, string[]> {
  const headers = parse(json);
  for (const [name, values] of Object.entries(headers)) {
    const isSecret = isCredentialName(name, visible);
    if (isSecret || values.some(isSealed))
      headers[name] = values.map((value) => (isSecret || isSealed(value) ? HIDDEN : value));
  }
  return headers;
}

/** For a search in the database: finds stored headers with a sealed value. */
export const SEALED_HEADERS = `%"${MARK}%`;

/** The headers under the key that seals now; null where nothing changes. */
export function resealedHeaders(sealer: Sealer, json: string | null, eventId: string): string | null {
  const headers = parse(json);
  let isChanged = false;
  for (const [name, values] of Object.entries(headers)) {
    const at = place(eventId, name);
    headers[name] = values.map((value) => {
      if (!isSealed(value) || sealer.isCurrent(bytes(value))) return value;
      isChanged = true;
      return seal(sealer, sealer.open(bytes(value), at), at);
    });
  }
  return isChanged ? JSON.stringify(headers) : null;
}

const isSealed = (value: string) => value.startsWith(MARK);
const bytes = (value: string) => Buffer.from(value.slice(MARK.length), 'base64');
const seal = (sealer: Sealer, value: string, at: string) =>
  `${MARK}${sealer.seal(value, at).toString('base64')}`;

function parse(json: string | null): Record<string, string[]> {
  return json === null ? {} : (parseStored(json) as Record<string, string[]>);
}
