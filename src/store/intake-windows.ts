import type { Database } from './database.ts';
import { plainArray } from './packed-bytes.ts';

/**
 * Lets events of limited projects and sources in: for each, as many of the wanted as its window still takes. The
 * window begins with the first event after the last one ended; one row per project or source, so that all nodes count
 * together. Rows are locked in key order. Round trips: 1, however many rows a batch needs.
 *
 * A negative `wanted` gives back what was taken and not used; if the window has ended meanwhile, that changes nothing.
 */
export interface WindowRequest {
  /** Id of the project or the source. */
  key: string;
  wanted: number;
  maxEvents: number;
  seconds: number;
}

const ENDED = `w.started_at + excluded.seconds * interval '1 second' <= now()`;
const BASE = `case when ${ENDED} then 0 else w.accepted end`;
const GRANTED = `least(excluded.granted, greatest(0, excluded.max_events - (${BASE})))`;

const TAKE = `
insert into intake_windows as w (key, started_at, max_events, seconds, accepted, granted)
select key, now(), max_events, seconds, greatest(0, least(wanted, max_events)), least(wanted, max_events)
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[]) as r(key, wanted, max_events, seconds)
order by key
on conflict (key) do update
set started_at = case when ${ENDED} then now() else w.started_at end,
  max_events = excluded.max_events, seconds = excluded.seconds,
  accepted = greatest(0, (${BASE}) + ${GRANTED}), granted = ${GRANTED}
returning key, granted,
  extract(epoch from started_at + seconds * interval '1 second' - now())::float8 as ends_in_seconds`;

export interface WindowGrant {
  granted: number;
  endsInSeconds: number;
}

export async function takeFromWindows(
  db: Database,
  requests: readonly WindowRequest[],
): Promise<Map<string, WindowGrant>> {
  const rows = await db.hot<{ key: string; granted: number; ends_in_seconds: number }>(
    'take-from-windows',
    TAKE,
    [
      plainArray(requests.map((request) => request.key)),
      plainArray(requests.map((request) => request.wanted)),
      plainArray(requests.map((request) => request.maxEvents)),
      plainArray(requests.map((request) => request.seconds)),
    ],
  );
  return new Map(rows.map((row) => [row.key, { granted: row.granted, endsInSeconds: row.ends_in_seconds }]));
}
