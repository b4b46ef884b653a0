import type { IdFactory } from '../domain/ids.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { Database } from '../store/database/database.ts';
import type { PasswordHasher } from './password-hasher.ts';

/** The dependencies of the functions in this folder. */
export interface PeopleDeps {
  db: Database;
  ids: IdFactory;
  sealer: Sealer;
  /** The database's time in milliseconds. */
  now(): number;
  hasher: PasswordHasher;
  /** The rights of a person ended or narrowed: clears this node's cached callers. */
  forgetCallers(personId: string): void;
  /** The public URL of this service, without a slash at the end. */
  publicUrl(): string;
  /** Null: no mail server is set. */
  sendMail: ((mail: Mail) => void) | null;
  /** Logs a failure after an answer was given. */
  failed(error: Error, what: string): void;
  rules: PeopleRules;
}

export interface PeopleRules {
  sessionSeconds: number;
  idleSeconds: number;
  hasPasswords: boolean;
  needsSecondFactor: boolean;
}

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Where a sign-in comes from. */
export interface Visitor {
  address: string;
  userAgent: string;
  /** The value of the session cookie that it came with. */
  token: string | undefined;
}

const LOCAL = String.raw`[^\s\p{C}@,;:<>()[\]"\\]+`;
const LABEL = String.raw`[\p{L}\p{M}\p{N}-]+`;
const EMAIL = new RegExp(`^${LOCAL}@${LABEL}(?:\\.${LABEL})*$`, 'u');
const MOST_EMAIL_CHARS = 254;

/**
 * Whether an address in normal form names one mailbox. With a second @, programs disagree on its domain. Addresses
 * without a dot are those of a company's own mail server.
 */
export function isEmail(normal: string): boolean {
  return normal.length <= MOST_EMAIL_CHARS && EMAIL.test(normal);
}

/** One account per address, however it is written. */
export function normalEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/**
 * Runs a change that ends or narrows the rights of a person. The callers that this node remembers are forgotten before
 * it returns, also where the change failed: its commit may have gone through all the same.
 */
export async function endingRights<T>(
  deps: PeopleDeps,
  personId: string,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } finally {
    deps.forgetCallers(personId);
  }
}
