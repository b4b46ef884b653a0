import type { Queryable } from '../database/database.ts';

interface IdentityKey {
  issuer: string;
  subject: string;
}

/** The person of an account at a provider. */
export async function findIdentity(
  tx: Queryable,
  { issuer, subject }: IdentityKey,
): Promise<string | undefined> {
  const [row] = await tx.query<{ person_id: string }>(
    'select person_id from identities where issuer = $1 and subject = $2',
    [issuer, subject],
  );
  return row?.person_id;
}

export async function insertIdentity(
  tx: Queryable,
  { issuer, subject, person_id }: IdentityKey & { person_id: string },
): Promise<void> {
  await tx.query('insert into identities (issuer, subject, person_id) values ($1, $2, $3)', [
    issuer,
    subject,
    person_id,
  ]);
}

export async function removeIdentities(tx: Queryable, personId: string): Promise<void> {
  await tx.query('delete from identities where person_id = $1', [personId]);
}
