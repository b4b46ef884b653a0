import { isConnectionHeader, isHeaderName, isHeaderValue } from '../domain/http-header.ts';
import { isTexts } from '../platform/json/is-object.ts';

/**
 * The parts of a request that a function of a subscription sets, besides the body. A function is written by strangers,
 * so each part is checked and bounded here. A part that breaks a rule fails the function: the message says which.
 */
export interface FunctionRequest {
  headers: Record<string, string>;
  /** Null: that of the endpoint's URL. */
  path: string | null;
  /** These replace parameters of the same names in the URL. */
  query: Record<string, string>;
  /** Values of variables in one of the parts. They are sent, and never shown. */
  secrets: string[];
  /** The address for which it was made, where the function read variables. Absent: it read none. */
  madeFor?: string;
}

export const requestLimits = {
  headers: 50,
  headerNameChars: 128,
  headerChars: 16_384,
  pathChars: 2_048,
  queryNames: 100,
  queryChars: 8_192,
};

/** Headers that only the service sets, whether or not this delivery has them. */
const OURS = /^(webhook-.*|x-posthorn-.*|x-convoy-.*|ce-.*|content-type|content-encoding|accept-encoding)$/;

/** The message is null if the value is fine. */
type Checked<T> = { value: T; message: null } | { message: string };

const refused = (message: string) => ({ message });

export function checkHeaders(given: unknown): Checked<Record<string, string>> {
  if (given === undefined) return { value: {}, message: null };
  if (!isTexts(given)) return refused('headers must be an object of strings');
  const entries = Object.entries(given);
  if (entries.length > requestLimits.headers)
    return refused(`more than ${requestLimits.headers} headers were set`);
  const seen = new Set<string>();
  let chars = 0;
  for (const [name, value] of entries) {
    const problem = headerProblem(name, value);
    if (problem !== null) return refused(problem);
    const key = name.toLowerCase();
    if (seen.has(key)) return refused(`the header ${name} was set twice`);
    seen.add(key);
    chars += name.length + value.length;
  }
  if (chars > requestLimits.headerChars)
    return refused(`the headers have more than ${requestLimits.headerChars} characters`);
  return { value: Object.fromEntries(entries), message: null };
}

function headerProblem(name: string, value: string): string | null {
  // `__proto__` is legal in HTTP, but no name of a header in JavaScript.
  if (name.length > requestLimits.headerNameChars || !isHeaderName(name) || name === '__proto__')
    return `${JSON.stringify(name.slice(0, 64))} is not a header name`;
  if (isConnectionHeader(name) || OURS.test(name.toLowerCase()))
    return `the header ${name} is set by the service, and not by a function`;
  return isHeaderValue(value) ? null : `the value of the header ${name} is not one line of Latin-1 text`;
}

/** Spaces and characters beyond ASCII are encoded in the URL. */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const PATH = /^\/[^\u0000-\u001f\u007f?#\\]*$/;

export function checkPath(given: unknown): Checked<string | null> {
  if (given === undefined || given === null) return { value: null, message: null };
  if (typeof given !== 'string' || !PATH.test(given) || !given.isWellFormed())
    return refused('path must be a text that begins with "/", without "?", "#", "\\" and control characters');
  if (given.length > requestLimits.pathChars)
    return refused(`path has more than ${requestLimits.pathChars} characters`);
  return { value: given, message: null };
}

export function checkQuery(given: unknown): Checked<Record<string, string>> {
  if (given === undefined) return { value: {}, message: null };
  if (!isTexts(given)) return refused('query must be an object of strings');
  const entries = Object.entries(given);
  if (entries.length > requestLimits.queryNames)
    return refused(`query has more than ${requestLimits.queryNames} names`);
  if (entries.flat().some((text) => !text.isWellFormed()))
    return refused('query has a text that is not well-formed Unicode');
  if (entries.flat().join('').length > requestLimits.queryChars)
    return refused(`query has more than ${requestLimits.queryChars} characters`);
  return { value: Object.fromEntries(entries), message: null };
}

/** The URL with the path and the query of a function. Only these two change, so scheme, host and port stay. */
export function withRequest(url: string, { path, query }: Pick<FunctionRequest, 'path' | 'query'>): string {
  const names = Object.keys(query);
  if (url === '' || (path === null && names.length === 0)) return url;
  const parsed = new URL(url);
  if (path !== null) parsed.pathname = path;
  if (names.length > 0) {
    const others = parsed.search
      .slice(1)
      .split('&')
      .filter((part) => part !== '' && !Object.hasOwn(query, nameOf(part)));
    parsed.search = [...others, new URLSearchParams(query).toString()].join('&');
  }
  return parsed.href;
}

const nameOf = (part: string): string => new URLSearchParams(part).keys().next().value ?? '';
