import type { Queryable } from '../store/database/database.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { removeIdentities } from '../store/people/identities.ts';
import { clearCredentials, type PersonWithCredentials } from '../store/people/people.ts';
import { endSessions } from '../store/people/sessions.ts';
import { removeLinks } from '../store/people/sign-in-links.ts';

/**
 * Gives an account to the owner of its address, and marks the address as confirmed. Another person may have set the
 * account up before: its password, second factor, sessions, links and identities at providers are removed. The caller
 * holds the lock of the row.
 */
export async function takeOver(tx: Queryable, id: string): Promise<PersonWithCredentials> {
  await endSessions(tx, id);
  await removeLinks(tx, id);
  await removeIdentities(tx, id);
  await notifyOfPerson(tx, id);
  return clearCredentials(tx, id);
}
