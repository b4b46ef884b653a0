import type { DatabaseFault } from '../../domain/errors.ts';

/** SQLSTATEs and socket codes, grouped by meaning. */
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'EACCES',
  'EAGAIN',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EMFILE',
  'ENFILE',
]);
/**
 * By class: 08 connection, 28 sign-in, 40 rolled back because of others (deadlock), 53 out of resources (memory,
 * connections), 57 operator intervention or statement timeout, 58 the server's own disk. From 25 only a server that takes
 * no writes (a standby after a failover), from 3D an unknown database, from 42 a missing right, from 55 a lock that was
 * not available and a database that takes no connections.
 */
const FAULTS: readonly (readonly [RegExp, DatabaseFault])[] = [
  [/^53100$/, 'full'],
  [/^25006$/, 'read_only'],
  [/^(28|3D000$|42501$|55000$)/, 'refused'],
  [/^(40|53|57014$|55P03$)/, 'busy'],
  [/^(08|57|58)/, 'unreachable'],
];
const SQLSTATE_LENGTH = 5;
/** The pool had no connection free in time. */
const WAIT_TEXT = 'timeout exceeded when trying to connect';
const CONNECTION_TEXT =
  /Connection terminated|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|not queryable|Cannot use a pool after/;

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

const marked = new WeakMap<object, DatabaseFault>();

/** Marks an error whose code does not say what is wrong with the database. */
export function markFault(error: unknown, fault: DatabaseFault): void {
  if (error instanceof Error) marked.set(error, fault);
}

/** The fault of the database. Null: it is not at fault. */
export function faultOf(error: unknown): DatabaseFault | null {
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  if (SOCKET_CODES.has(code)) return 'unreachable';
  const [, fault] = (code.length === SQLSTATE_LENGTH && FAULTS.find(([codes]) => codes.test(code))) || [];
  const known = marked.get(error) ?? fault;
  if (known !== undefined) return known;
  if (error instanceof AggregateError) return error.errors.map(faultOf).find((one) => one !== null) ?? null;
  if (error.message.includes(WAIT_TEXT)) return 'busy';
  return CONNECTION_TEXT.test(error.message) ? 'unreachable' : null;
}

/**
 * The database is away or in trouble, or went away while it worked. The effect of its last statement is
 * unknown, and the same statement may succeed later.
 */
export function isConnectionError(error: unknown): boolean {
  return faultOf(error) !== null;
}

/** The options of an error for callers that this one leads to. */
export const because = (error: unknown) => ({ cause: error, reason: faultOf(error) ?? 'unreachable' });

/**
 * SQLSTATEs after which the server has rolled back: serialisation and deadlocks (but not 40003, completion
 * unknown), out of resources, statement timeout, no writes, no lock, no right, bad data, a constraint.
 */
const ROLLED_BACK = /^(40(?!003)|53|57014$|25006$|55|42|22|23|54)/;

const undone = new WeakSet<object>();

/** Marks an error: the failed operation had no effect, because it was never sent or not committed. */
export function markUndone(error: unknown): void {
  if (error instanceof Error) undone.add(error);
}

/**
 * The failed operation certainly had no effect. Otherwise, with a connection error, that is unknown: the
 * answer may be lost.
 */
export function isUndone(error: unknown): boolean {
  if (error instanceof Error && undone.has(error)) return true;
  const code = codeOf(error);
  return code.length === SQLSTATE_LENGTH && ROLLED_BACK.test(code);
}

/** The values of a row are at fault (class 22, or a text the database cannot store). Other rows may succeed. */
export function isDataError(error: unknown): boolean {
  return codeOf(error).startsWith('22') || codeOf(error) === '54000';
}

/** No partition for a row: the clock has passed the partitions created ahead. */
export function isMissingPartition(error: unknown): boolean {
  return codeOf(error) === '23514' && error instanceof Error && error.message.includes('no partition');
}

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/** The role lacks a right. Without one to use it, a schema is not even found. */
export function isMissingRight(error: unknown): boolean {
  return codeOf(error) === '42501' || codeOf(error) === '3F000';
}

/** The server does not take this message at this time. */
export function isProtocolViolation(error: unknown): boolean {
  return codeOf(error) === '08P01';
}

/** A statement reached its time limit. */
export function isTimeout(error: unknown): boolean {
  return codeOf(error) === '57014';
}

/** A lock was not available: within lock_timeout, or because of a deadlock with one of ours. */
export function isLockFailure(error: unknown): boolean {
  return codeOf(error) === '55P03' || codeOf(error) === '40P01';
}

/** A statement waited for a lock up to its limit, or was cancelled while waiting. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03' || isTimeout(error);
}

const TRANSIENT_CODES = new Set(['40001', '40P01', '55P03', '57014', '25P03']);

/** A retry may succeed: the database was away or busy, or two transactions conflicted. */
export function isTransient(error: unknown): boolean {
  return isConnectionError(error) || TRANSIENT_CODES.has(codeOf(error));
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

/** From the database or the way to it, and not from our own code. */
export function isDatabaseError(error: unknown): boolean {
  return isConnectionError(error) || SQLSTATE.test(codeOf(error));
}

/** In words. If a name has several addresses, the failures come as one error without a message. */
export function reasonOf(error: unknown): string {
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
  return causes.map((cause) => cause.message + detailOf(cause)).join(', ');
}

/** Such as the right that a sign-in lacks. */
function detailOf(error: Error): string {
  return 'detail' in error && typeof error.detail === 'string' ? ` (${error.detail})` : '';
}
