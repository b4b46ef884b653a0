import type { Queryable } from '../database/database.ts';

/** Which cell of which instance a database is, so that none is added twice, nor one of another instance. */
export interface CellIdentity {
  instanceId: string;
  cellId: number;
}

/** Undefined: it belongs to no cells yet. */
export async function readIdentity(db: Queryable): Promise<CellIdentity | undefined> {
  const [row] = await db.query<{ instance_id: string; cell_id: number }>(
    'select instance_id, cell_id from cell_identity',
  );
  return row && { instanceId: row.instance_id, cellId: row.cell_id };
}

/** The one that is there stays. Returns it. */
export async function keepIdentity(tx: Queryable, identity: CellIdentity): Promise<CellIdentity> {
  await tx.query('insert into cell_identity (instance_id, cell_id) values ($1, $2) on conflict do nothing', [
    identity.instanceId,
    identity.cellId,
  ]);
  return (await readIdentity(tx)) as CellIdentity;
}
