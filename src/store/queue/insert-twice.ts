import { isUniqueViolation } from '../database/pg-errors.ts';

/**
 * Statements of the hot path are idempotent: their ids are generated beforehand, and existing rows do not
 * change. So they can be sent again after a lost answer. But `on conflict do nothing` looks up every row
 * before the insert and confirms it afterwards, in the WAL too: 14 % of the database's CPU time and 144 bytes
 * of WAL per delivery, for a case that needs a broken connection. So a batch is sent plainly first. If it
 * conflicts with its own rows, it is sent again with `on conflict do nothing`. The conflict rolls back the
 * whole plain statement. If the first one still runs on the server, the second waits for its end and then
 * finds its rows, or none.
 */
export async function insertTwice<T>(send: (onConflict: OnConflict) => Promise<T>): Promise<T> {
  try {
    return await send('');
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    return send('on conflict do nothing');
  }
}

export type OnConflict = '' | 'on conflict do nothing';

/** Both forms of a statement, each prepared under its own name. */
export function bothForms(
  name: string,
  text: (onConflict: OnConflict) => string,
): Record<OnConflict, { name: string; text: string }> {
  return {
    '': { name, text: text('') },
    'on conflict do nothing': { name: `${name}-again`, text: text('on conflict do nothing') },
  };
}
