import { type Actor, type Made, type Once, RepeatedCall } from '../../domain/audit.ts';
import { AppError } from '../../domain/errors.ts';
import type { Queryable } from '../database/database.ts';

interface Row extends Omit<Made, 'onceId'> {
  request: string;
}

export interface Outcome<T> {
  result: T;
  /** The ids of what was created. */
  ids: readonly string[];
  /** A secret that the response shows only once. */
  secret?: string | null | undefined;
}

/** Throws if the call was made before: `RepeatedCall`, or a refusal of another request. */
async function reserve(tx: Queryable, once: Once): Promise<void> {
  // Waits for the commit of a transaction that reserves the same key. A key of yesterday is free again.
  const reserved = await tx.query(
    `insert into idempotency_keys as k (id, request) values ($1, $2)
     on conflict (id) do update set request = excluded.request, ids = '{}', sealed = null, made_at = now()
       where k.made_at < now() - interval '1 day'
     returning 1`,
    [once.id, once.request],
  );
  if (reserved.length > 0) return;
  const [row] = await tx.query<Row>('select request, ids, sealed from idempotency_keys where id = $1', [
    once.id,
  ]);
  if (row === undefined || row.request !== once.request) throw new AppError('idempotency_key_used');
  throw new RepeatedCall({ onceId: once.id, ids: row.ids, sealed: row.sealed });
}

/** Does the work of a call once, if the call has a key. */
export async function onceIn<T>(tx: Queryable, actor: Actor, work: () => Promise<Outcome<T>>): Promise<T> {
  const { once } = actor.type === 'instance' ? {} : actor;
  if (once === undefined) return (await work()).result;
  await reserve(tx, once);
  const { result, ids, secret } = await work();
  const sealed = typeof secret === 'string' ? once.seal(secret) : null;
  await tx.query('update idempotency_keys set ids = $2, sealed = $3 where id = $1', [once.id, ids, sealed]);
  return result;
}
