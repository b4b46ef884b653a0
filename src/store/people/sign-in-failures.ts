import type { Queryable } from '../database/database.ts';

/**
 * Failed sign-ins of an account, of an address, and of an account from an address. An attempt is counted before its
 * password is checked, so that many attempts at once count as many. A success takes its count back.
 *
 * After `free` failures each further attempt has to wait: 1 s, 2 s, 4 s and so on, up to a minute. An hour without a
 * failure forgets them. No account is locked for good: an attempt that comes too early is not counted, and the limit of
 * the account does not apply to an address from which the account was signed in to within 30 days.
 */
const LONGEST_WAIT_SECONDS = 60;
const FREE = { pair: 5, account: 20, address: 50 } as const;

export interface FailureKeys {
  pair: Buffer;
  account: Buffer;
  address: Buffer;
}

const LOCK = `
insert into sign_in_failures (key, failures, failed_at)
select key, 0, 'epoch' from unnest($1::bytea[]) as k(key) order by key on conflict do nothing`;

const READ = `
select f.key, f.succeeded_at > now() - interval '30 days' as is_known,
  case when f.failed_at < now() - interval '1 hour' or f.failures < k.free then 0
    else extract(epoch from f.failed_at - now()) + least($3::integer, power(2, least(f.failures - k.free, 16))) end as wait
from unnest($1::bytea[], $2::integer[]) as k(key, free) join sign_in_failures f using (key)
order by f.key for update of f`;

const COUNT = `
update sign_in_failures set failed_at = now(),
  failures = case when failed_at < now() - interval '1 hour' then 1 else failures + 1 end
where key = any($1::bytea[])`;

/** Counts an attempt. Null: it may be made. Otherwise the seconds to wait, and nothing was counted. */
export async function beginAttempt(tx: Queryable, keys: FailureKeys): Promise<number | null> {
  const all = [keys.pair, keys.account, keys.address];
  await tx.query(LOCK, [all]);
  const rows = await tx.query<{ key: Buffer; is_known: boolean | null; wait: string }>(READ, [
    all,
    [FREE.pair, FREE.account, FREE.address],
    LONGEST_WAIT_SECONDS,
  ]);
  const isKnown = rows.some(({ key, is_known }) => is_known === true && key.equals(keys.pair));
  const waits = rows
    .filter(({ key }) => !(isKnown && key.equals(keys.account)))
    .map(({ wait }) => Number(wait));
  const wait = Math.max(0, ...waits);
  if (wait > 0) return Math.ceil(wait);
  await tx.query(COUNT, [all]);
  return null;
}

/** The attempt succeeded: it does not count, and earlier failures of this account from this address are forgotten. */
export async function attemptSucceeded(tx: Queryable, keys: FailureKeys): Promise<void> {
  // Locked in order of the key, as in beginAttempt.
  await tx.query(
    `with locked as (select key from sign_in_failures where key = any($2::bytea[]) order by key for update)
     update sign_in_failures f set failures = case when f.key = $1 then 0 else greatest(0, f.failures - 1) end,
       succeeded_at = case when f.key = $1 then now() else f.succeeded_at end
     from locked l where f.key = l.key`,
    [keys.pair, [keys.pair, keys.account, keys.address]],
  );
}
