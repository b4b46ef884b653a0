import type { Queryable } from '../database/database.ts';

const LOCK = 7_305_510;

/** Serialises nodes that start together, and a reseal that ends. */
export async function lockSecretKeys(tx: Queryable): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCK]);
}

/** Ids of the keys that may have sealed a value here. */
export async function keysInUse(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>('select id from secret_keys order by added_at, id');
  return rows.map((row) => row.id);
}

/** Call before a key seals anything. */
export async function addKeyInUse(db: Queryable, id: string): Promise<void> {
  await db.query('insert into secret_keys (id) values ($1) on conflict do nothing', [id]);
}

export async function removeKeyInUse(db: Queryable, id: string): Promise<void> {
  await db.query('delete from secret_keys where id = $1', [id]);
}

export async function getInstanceSecret(db: Queryable, name: string): Promise<Buffer | undefined> {
  const [row] = await db.query<{ sealed: Buffer }>('select sealed from instance_secrets where name = $1', [
    name,
  ]);
  return row?.sealed;
}

export async function insertInstanceSecret(db: Queryable, name: string, sealed: Buffer): Promise<void> {
  await db.query('insert into instance_secrets (name, sealed) values ($1, $2)', [name, sealed]);
}
