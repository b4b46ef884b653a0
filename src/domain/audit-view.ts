import { isObject } from '../platform/json/is-object.ts';
import { pathsOf } from '../platform/json/schema-marks.ts';
import { Secret } from '../platform/secret.ts';
import type { AuditNote } from './audit.ts';
import { sourceCredentials } from './config/source.ts';
import { endpointCredentials } from './resources/endpoint-credentials.ts';

/**
 * A changed resource as the audit log shows it. Internal fields are removed, and secrets are replaced by a
 * mark. The mark is the same before and after if the secret is unchanged, and different otherwise. It reveals
 * nothing else, so a guess cannot be tested against it.
 *
 * Sealed values arrive as an object named `secret`. In it every text counts as a secret unless its field is
 * marked as open, so a new credential is hidden by default. Elsewhere names decide.
 */
export const SECRET = '[secret]';
export const CHANGED_SECRET = '[secret, changed]';

const BOOKKEEPING = new Set([
  'id',
  'project_id',
  'version',
  'updated_at',
  'deleted_at',
  'last_used_at',
  'keys',
  'keysMark',
  'cell_state',
]);
const sealed = { ...endpointCredentials, ...sourceCredentials };
const namesOf = (secrecy: 'credential' | 'open') =>
  pathsOf(secrecy, sealed).map((path) => path.replace(/.*\./, ''));

/** Texts of other rows with these names are secret too. */
const SECRETS = new Set(['token', 'authorization', ...namesOf('credential')]);
/** Fields inside a sealed object that are not secret: those of records, and those with the mark. */
const PLAIN_IN_SEALED = new Set([
  'uid',
  'created_at',
  'updated_at',
  'expires_at',
  'deleted_at',
  'since',
  'public_key',
  ...namesOf('open'),
]);

/** Whether a text of a sealed object may be shown. A place may have a credential before its host or in its query. */
export function isPlainInSealed(name: string, text: string): boolean {
  if (!PLAIN_IN_SEALED.has(name) || text.includes('@')) return false;
  const url = URL.parse(text);
  return url === null || (url.search === '' && url.hash === '');
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export function auditView({ before, after }: Pick<AuditNote, 'before' | 'after'>): {
  before: object | null;
  after: object | null;
} {
  const [was, is] = [resource(before), resource(after)];
  return {
    before: hide(was, is, {}) as object | null,
    after: hide(is, was, { isLater: true }) as object | null,
  };
}

/** Plain JSON of a row, with times as texts, without internal fields and bytes (hashes and sealed values). */
function resource(row: object | null): Json {
  if (row === null) return null;
  const kept = Object.entries(row)
    .filter(([name, value]) => !BOOKKEEPING.has(name) && !(value instanceof Uint8Array))
    .map(([name, value]: [string, unknown]) => {
      if (value instanceof Secret) {
        const opened: unknown = value.revealOrNull();
        return [name, name === 'secret' ? opened : { secret: opened }];
      }
      const isInstant = name.endsWith('_at') && typeof value === 'number';
      return [name, isInstant ? new Date(value).toISOString() : value];
    });
  return JSON.parse(JSON.stringify(Object.fromEntries(kept))) as Json;
}

interface Place {
  /** The side after the change, which shows whether a secret changed. */
  isLater?: boolean;
  /** Inside a sealed object. */
  isSealed?: boolean;
  /** Inside headers or variables. Callers choose their names, so a name says nothing about its value. */
  isFree?: boolean;
  name?: string;
}

function hide(value: Json, other: Json | undefined, place: Place): Json {
  if (typeof value === 'string') return hideText(value, other, place);
  if (Array.isArray(value)) return value.map((item, index) => hide(item, twin(item, other, index), place));
  if (value === null || typeof value !== 'object') return value;
  const others = isObject(other) ? other : {};
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isSealed = place.isSealed === true || name === 'secret';
      const isFree = place.isFree === true || name === 'headers' || name === 'variables';
      return [name, hide(item, others[name], { ...place, name, isSealed, isFree })];
    }),
  );
}

function hideText(text: string, other: Json | undefined, place: Place): Json {
  const { name = '' } = place;
  const isPlain =
    place.isSealed === true ? place.isFree !== true && isPlainInSealed(name, text) : !SECRETS.has(name);
  if (text === '') return text;
  if (!isPlain) return mark(text, other, place);
  const url = URL.parse(text);
  const userInfo = userInfoOf(url);
  if (url === null || userInfo === '') return text;
  const known = typeof other === 'string' ? userInfoOf(URL.parse(other)) : null;
  return `${url.protocol}//${mark(userInfo, known, place)}@${url.host}${url.pathname}${url.search}${url.hash}`;
}

const userInfoOf = (url: URL | null): string =>
  url === null || (url.username === '' && url.password === '') ? '' : `${url.username}:${url.password}`;

function mark(secret: string, other: Json | undefined, { isLater }: Place): string {
  const isAnother = other !== undefined && other !== null && other !== '' && other !== secret;
  return isLater === true && isAnother ? CHANGED_SECRET : SECRET;
}

/** The earlier form of a list item: the one with the same uid, or at the same position. */
function twin(item: Json, others: Json | undefined, index: number): Json | undefined {
  if (!Array.isArray(others)) return undefined;
  if (!isObject(item) || item['uid'] === undefined) return others[index];
  return others.find((other) => isObject(other) && other['uid'] === item['uid']);
}
