import type { Queryable } from '../database/database.ts';

export const linkPurposes = ['sign_in', 'invitation', 'reset'] as const;
export type LinkPurpose = (typeof linkPurposes)[number];

export interface SignInLinkRow {
  person_id: string;
  purpose: LinkPurpose;
  was_mailed: boolean;
  ends_second_factor: boolean;
  expires_at: number;
}

const COLUMNS = 'person_id, purpose, was_mailed, ends_second_factor, expires_at';

/** Stores a link. Earlier ones of the same purpose stop working. */
export async function insertLink(
  tx: Queryable,
  link: Omit<SignInLinkRow, 'expires_at'> & { hash: Buffer; seconds: number },
): Promise<SignInLinkRow> {
  await tx.query('delete from sign_in_links where person_id = $1 and purpose = $2', [
    link.person_id,
    link.purpose,
  ]);
  const [row] = await tx.query<SignInLinkRow>(
    `insert into sign_in_links (hash, person_id, purpose, was_mailed, ends_second_factor, expires_at)
     values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6)) returning ${COLUMNS}`,
    [link.hash, link.person_id, link.purpose, link.was_mailed, link.ends_second_factor, link.seconds],
  );
  return row as SignInLinkRow;
}

export async function findLink(db: Queryable, hash: Buffer): Promise<SignInLinkRow | undefined> {
  const [row] = await db.query<SignInLinkRow>(
    `select ${COLUMNS} from sign_in_links where hash = $1 and expires_at > now()`,
    [hash],
  );
  return row;
}

/** Takes a link, so that it never works again. Of two calls at once, one gets it. */
export async function takeLink(tx: Queryable, hash: Buffer): Promise<SignInLinkRow | undefined> {
  const [row] = await tx.query<SignInLinkRow>(
    `delete from sign_in_links where hash = $1 and expires_at > now() returning ${COLUMNS}`,
    [hash],
  );
  return row;
}

export async function removeLinks(tx: Queryable, personId: string): Promise<void> {
  await tx.query('delete from sign_in_links where person_id = $1', [personId]);
}
