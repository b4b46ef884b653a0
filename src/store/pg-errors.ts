/** SQLSTATEs and socket codes by what they mean to us. */
const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
]);
const CONNECTION_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|Cannot use a pool after/;

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The database is away, or went away while it worked: what it did last is unknown. */
export function isConnectionError(error: unknown): boolean {
  if (CONNECTION_CODES.has(codeOf(error))) return true;
  return error instanceof Error && CONNECTION_TEXT.test(error.message);
}

/** The values of a row are at fault (class 22, or a text the database cannot hold): others may still go through. */
export function isDataError(error: unknown): boolean {
  return codeOf(error).startsWith('22') || codeOf(error) === '54000';
}

/** No partition for a row: the clock moved past the ones made ahead. */
export function isMissingPartition(error: unknown): boolean {
  return codeOf(error) === '23514' && error instanceof Error && error.message.includes('no partition');
}

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505';
}

/** A statement ran into its time limit. */
export function isTimeout(error: unknown): boolean {
  return codeOf(error) === '57014';
}

const TRANSIENT_CODES = new Set(['40001', '40P01', '55P03', '57014', '25P03']);

/** Doing the same again may well work: the database was away or busy, or two transactions met. */
export function isTransient(error: unknown): boolean {
  return isConnectionError(error) || TRANSIENT_CODES.has(codeOf(error));
}
