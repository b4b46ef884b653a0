import { BoundedMap } from '../../platform/bounded-map.ts';
import type { ProjectConfig } from './project-config.ts';

/**
 * Headers that authenticate a sender. A reader of such a value can impersonate the sender, so it is sealed if
 * it must be stored, dropped otherwise, and never shown. The name of a header decides:
 *   always  -> `authorization` and `cookie` in their four forms;
 *   usually -> the name contains a word such as `token` or `key`, or is a vendor's; a project may list it as visible;
 *   never   -> every other name, and names known to be harmless although they contain such a word.
 *
 * The class of a name is computed once and cached, for at most MAX_REMEMBERED names of usual length. A
 * delivery costs one lookup per header, and invented names cost no memory.
 */
type NameClass = 'always' | 'usually' | 'never';

const ALWAYS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/** Credentials of proxies and vendors whose names hold none of the words. */
const VENDORS: ReadonlySet<string> = new Set(['x-auth', 'x-wsse', 'x-amzn-oidc-data']);
const WORDS = /token|secret|password|passwd|key|authorization|cookie|credential|jwt/;

const HARMLESS: ReadonlySet<string> = new Set([
  'cache-key',
  'x-cache-key',
  'surrogate-key',
  'x-surrogate-key',
  'partition-key',
  'x-partition-key',
  'ce-partitionkey',
  'sec-websocket-key',
  'public-key-pins',
  'public-key-pins-report-only',
]);
/** Idempotency keys, under any prefix, and counts of remaining tokens. */
const HARMLESS_FORMS = /(^|-)idempotency-?key$|ratelimit.*-tokens$/;

/** Names that a source does not store at all. No filter has ever seen them. Others are stored sealed. */
const NOT_STORED: ReadonlySet<string> = new Set([
  ...ALWAYS,
  'x-api-key',
  'api-key',
  'apikey',
  'x-auth-token',
  'x-access-token',
  'x-gitlab-token',
]);

/** Shown instead of such a value. */
export const HIDDEN = '***';

const MAX_REMEMBERED = 2_000;
const MAX_REMEMBERED_CHARS = 64;
const remembered = new BoundedMap<string, NameClass>(MAX_REMEMBERED);

function classOf(name: string): NameClass {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  const found = classify(name.toLowerCase());
  if (name.length > MAX_REMEMBERED_CHARS) return found;
  remembered.set(name, found);
  return found;
}

function classify(name: string): NameClass {
  if (ALWAYS.has(name)) return 'always';
  if (HARMLESS.has(name) || HARMLESS_FORMS.test(name)) return 'never';
  return VENDORS.has(name) || WORDS.test(name) ? 'usually' : 'never';
}

/** Names in lower case. */
export type VisibleHeaders = ReadonlySet<string>;

/** The context of the headers. */
export interface HeaderOwner {
  /** The headers that the project shows. */
  visible: VisibleHeaders;
  /** Names, in lower case, that are credentials of this request or event in any case. */
  credentials: readonly string[];
}

/** `name` in any case. */
export function isCredential(name: string, { visible, credentials }: HeaderOwner): boolean {
  if (credentials.length > 0 && credentials.includes(name.toLowerCase())) return true;
  return isCredentialName(name, visible);
}

export function isCredentialName(name: string, visible: VisibleHeaders): boolean {
  const found = classOf(name);
  return found === 'always' || (found === 'usually' && !visible.has(name.toLowerCase()));
}

/** Whether a source drops the header instead of storing it. `name` in lower case. */
export function isNotStored(name: string, visible: VisibleHeaders): boolean {
  return NOT_STORED.has(name) && isCredentialName(name, visible);
}

/** Whether a project may list the name as visible. */
export function mayBeVisible(name: string): boolean {
  return classOf(name) !== 'always';
}

type Named = Pick<ProjectConfig, 'visible_headers' | 'request_id_header'> & {
  signature: Pick<ProjectConfig['signature'], 'header'>;
};
const visibleOf = new WeakMap<Named, VisibleHeaders>();

/** The names a project lists, and its custom names of our headers. Computed once per config version. */
export function visibleHeaders(config: Named): VisibleHeaders {
  let names = visibleOf.get(config);
  if (names === undefined) {
    const { visible_headers, request_id_header, signature } = config;
    const all = [...visible_headers, request_id_header, signature.header];
    names = new Set(all.map((name) => name.toLowerCase()));
    visibleOf.set(config, names);
  }
  return names;
}
