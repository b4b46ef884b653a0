import { isUniqueViolation } from '../database/pg-errors.ts';

/**
 * Statements of the hot path can be sent again after a lost answer: their ids were made beforehand, and what is there
 * already is left as it is. But `on conflict do nothing` looks up every row before it is inserted and confirms it
 * afterwards, in the log too: 14 % of the database's CPU time and 144 bytes of WAL per delivery, for something that
 * happens once in a broken connection. So a batch goes plainly first; if it meets its own rows it goes again, leniently.
 *
 * Meeting them rolls the plain statement back whole, so nothing is half done. If the first sending is still running on
 * the server, the second waits for its end and then meets its rows, or finds none.
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

/** Both forms of a statement, each prepared under a name of its own. */
export function bothForms(
  name: string,
  text: (onConflict: OnConflict) => string,
): Record<OnConflict, { name: string; text: string }> {
  return {
    '': { name, text: text('') },
    'on conflict do nothing': { name: `${name}-again`, text: text('on conflict do nothing') },
  };
}
