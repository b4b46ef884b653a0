/**
 * Which rows may be removed one by one. Rows stay that an open delivery needs, and those of a failed one that holds its
 * ordering key, because a resend of it ends the hold. Events come after the deliveries, with which they stay.
 */
const ENDED = `e.status in ('Success', 'Failure', 'Discarded')`;
/** The offset keeps the look-up by index: a join might read the deliveries of all partitions. */
const UNUSED = `not exists (
    select from event_deliveries d where d.event_id = e.id and d.project_id = e.project_id offset 0)
  and not exists (select from expansions x where x.event_id = e.id and x.project_id = e.project_id)`;
const HOLDS_NO_KEY = `not exists (select from ordering_keys k
  where k.project_id = e.project_id and k.head_id = e.id and k.held_at is not null)`;

export interface RemovableRows {
  table: 'event_deliveries' | 'events' | 'meta_events';
  /** The size of a row `e`. */
  bytes: string;
  /** A row `e` that may go, as far as it is known without its lock. */
  mayGo: string;
  /** Asked under the lock, of a key `e`. */
  isFree: string;
}

export const REMOVABLE_ROWS: readonly RemovableRows[] = [
  {
    table: 'event_deliveries',
    bytes: `coalesce(octet_length(e.body), 0) + coalesce((
      select sum(octet_length(a.response_body)) from delivery_attempts a
      where a.project_id = e.project_id and a.delivery_id = e.id), 0)`,
    mayGo: ENDED,
    isFree: HOLDS_NO_KEY,
  },
  { table: 'events', bytes: 'octet_length(e.payload)', mayGo: UNUSED, isFree: UNUSED },
  { table: 'meta_events', bytes: 'octet_length(e.payload)', mayGo: ENDED, isFree: 'true' },
];
