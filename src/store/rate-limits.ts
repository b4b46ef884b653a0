import type { RateGrant } from '../domain/event-delivery.ts';
import { nextFree, nextGrants, type RateLimit } from '../domain/rate-grants.ts';
import type { Database, Queryable } from './database.ts';

/** What a node asks for: `wanted` sends under one or two limits (endpoint and subscription) at once. */
export interface GrantRequest {
  limits: readonly { key: string; limit: RateLimit }[];
  wanted: number;
}

export interface Granted {
  grants: RateGrant[];
  /** Milliseconds from now at which each send may start. */
  startsInMs: number[];
  /** Milliseconds until more would be granted. */
  freeInMs: number;
}

/** Only sends that may start this soon are granted: a grant reserved further ahead would hold up others' sends. */
const HORIZON_MS = 150;

/**
 * Grants sends in one transaction. The rows of the limits are locked in key order, so nodes take turns and cannot
 * deadlock; times are the database's, so nodes need not agree on theirs.
 */
export async function takeGrants(db: Database, requests: readonly GrantRequest[]): Promise<Granted[]> {
  const keys = [...new Set(requests.flatMap((request) => request.limits.map(({ key }) => key)))].sort();
  return db.transaction(async (tx) => {
    const rows = await lockLimits(tx, keys);
    const nowMs = Math.max(...rows.map((row) => row.now_ms));
    const grants = new Map(rows.map((row) => [row.key, row.grants]));
    const granted = requests.map((request) => grantOne(request, grants, nowMs));
    await tx.query(
      'update rate_limits r set grants = g.grants::float8[] from unnest($1::text[], $2::text[]) as g(key, grants) where r.key = g.key',
      [keys, keys.map((key) => `{${(grants.get(key) ?? []).join(',')}}`)],
    );
    return granted;
  });
}

/** A row may have been removed as unused between the two statements: then once more. */
async function lockLimits(
  tx: Queryable,
  keys: readonly string[],
): Promise<{ key: string; grants: number[]; now_ms: number }[]> {
  for (;;) {
    await tx.query(
      "insert into rate_limits (key, grants) select key, '{}' from unnest($1::text[]) as k(key) order by key on conflict do nothing",
      [keys],
    );
    const rows = await tx.query<{ key: string; grants: number[]; now_ms: number }>(
      `select key, grants, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
       from rate_limits where key = any($1) order by key for update`,
      [keys],
    );
    if (rows.length === keys.length) return rows;
  }
}

function grantOne(request: GrantRequest, grants: Map<string, number[]>, nowMs: number): Granted {
  const histories = () => request.limits.map(({ key, limit }) => ({ limit, grants: grants.get(key) ?? [] }));
  const given = nextGrants(histories(), { wanted: request.wanted, nowMs, untilMs: nowMs + HORIZON_MS });
  for (const { key, limit } of request.limits) {
    grants.set(key, [...(grants.get(key) ?? []), ...given].slice(-limit.count));
  }
  const keys = request.limits.map(({ key }) => key);
  return {
    grants: given.map((atMs) => ({ keys, atMs })),
    startsInMs: given.map((atMs) => atMs - nowMs),
    freeInMs: nextFree(histories(), nowMs) - nowMs,
  };
}

/** Gives back grants that no send was started for, so that a long window is not lost to a delivery that had to wait. */
export async function returnGrants(db: Database, returned: readonly RateGrant[]): Promise<void> {
  const keys = [...new Set(returned.flatMap((grant) => grant.keys))].sort();
  await db.transaction(async (tx) => {
    const rows = await tx.query<{ key: string; grants: number[] }>(
      'select key, grants from rate_limits where key = any($1) order by key for update',
      [keys],
    );
    for (const { key, grants } of rows) {
      const left = [...grants];
      for (const { atMs } of returned.filter((grant) => grant.keys.includes(key))) {
        const at = left.indexOf(atMs);
        if (at >= 0) left.splice(at, 1);
      }
      await tx.query('update rate_limits set grants = $2::float8[] where key = $1', [
        key,
        `{${left.join(',')}}`,
      ]);
    }
  });
}
