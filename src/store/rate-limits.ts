import { nextFree, nextGrants, type RateLimit } from '../domain/rate-grants.ts';
import type { Database } from './database.ts';

/** What a node asks for: `wanted` sends under one or two limits (endpoint and subscription) at once. */
export interface GrantRequest {
  limits: readonly { key: string; limit: RateLimit }[];
  wanted: number;
}

export interface Granted {
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
    await tx.query(
      "insert into rate_limits (key, grants) select key, '{}' from unnest($1::text[]) as k(key) order by key on conflict do nothing",
      [keys],
    );
    const rows = await tx.query<{ key: string; grants: number[]; now_ms: number }>(
      `select key, grants, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
       from rate_limits where key = any($1) order by key for update`,
      [keys],
    );
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

function grantOne(request: GrantRequest, grants: Map<string, number[]>, nowMs: number): Granted {
  const histories = () => request.limits.map(({ key, limit }) => ({ limit, grants: grants.get(key) ?? [] }));
  const given = nextGrants(histories(), { wanted: request.wanted, nowMs, untilMs: nowMs + HORIZON_MS });
  for (const { key, limit } of request.limits) {
    grants.set(key, [...(grants.get(key) ?? []), ...given].slice(-limit.count));
  }
  return { startsInMs: given.map((at) => at - nowMs), freeInMs: nextFree(histories(), nowMs) - nowMs };
}
