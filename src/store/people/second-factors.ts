import type { Queryable } from '../database/database.ts';

/** A seed that was never used. It counts once a code of it was sent. Null: there is no second factor any more. */
export async function setTotp(tx: Queryable, personId: string, sealed: Buffer | null): Promise<void> {
  await tx.query(
    `update people set sealed_totp = $2, totp_confirmed_at = null, totp_step = 0, recovery_hashes = '{}', updated_at = now()
     where id = $1`,
    [personId, sealed],
  );
}

export async function confirmTotp(
  tx: Queryable,
  personId: string,
  { step, recoveryHashes }: { step: number; recoveryHashes: Buffer[] },
): Promise<void> {
  await tx.query(
    `update people set totp_confirmed_at = now(), totp_step = $2, recovery_hashes = $3, updated_at = now() where id = $1`,
    [personId, step, recoveryHashes],
  );
}

/** A code of this step or an earlier one works no more. */
export async function takeTotpStep(tx: Queryable, personId: string, step: number): Promise<void> {
  await tx.query('update people set totp_step = $2 where id = $1', [personId, step]);
}

export async function setRecoveryHashes(tx: Queryable, personId: string, hashes: Buffer[]): Promise<void> {
  await tx.query('update people set recovery_hashes = $2, updated_at = now() where id = $1', [
    personId,
    hashes,
  ]);
}
