import type { Database } from '../database/database.ts';
import { deleteInChunks } from './delete-in-chunks.ts';

/**
 * Removes unneeded rows of plain tables. Deleted config stays for a while: nodes learn of a deletion from the row, and
 * lists of retained data show its names.
 */

/** Ended before this: $1 the retention, $2 the time deleted config is kept, both in milliseconds since 1970. */
const RETENTION = 'to_timestamp($1::float8 / 1000)';
const CONFIG = 'to_timestamp($2::float8 / 1000)';
const GONE_PROJECTS = `(select id from projects where deleted_at < ${CONFIG}
  and not exists (select from delivery_queue q where q.project_id = projects.id))`;
const MOVED_PROJECTS = "select id from projects where cell_state = 'moved'";
const hasNo = (table: string, id: string) =>
  `not exists (select from ${table} s where s.id = ${id} and s.deleted_at is null)`;

const LEFTOVERS: readonly [table: string, condition: string][] = [
  ['traffic', `step = 60 and start < ${RETENTION}`],
  ['traffic', "step = 1 and start < now() - interval '2 days'"],
  ['alert_failures', `at < ${RETENTION}`],
  // A raised alert stays while its subject exists. The subject of a certificate alert is `<endpoint> <side>
  // …`, that of held ordering keys `<subscription> ordering`.
  [
    'alerts',
    `cleared_at < ${RETENTION} or (raised_at < ${RETENTION} and ${hasNo('endpoints', "split_part(subject_id, ' ', 1)")} and ${hasNo('subscriptions', "split_part(subject_id, ' ', 1)")} and ${hasNo('sources', 'subject_id')})`,
  ],
  // No row means closed.
  [
    'endpoint_breakers',
    `changed_at < ${RETENTION} and (state = 'closed' or ${hasNo('endpoints', 'endpoint_id')})`,
  ],
  ['jobs', `finished_at < ${RETENTION}`],
  ['api_keys', `revoked_at < ${RETENTION}`],
  ['portal_tokens', 'expires_at < now()'],
  ['failure_mutes', 'until < now()'],
  ['idempotency_keys', "made_at < now() - interval '1 day'"],
  ['portal_links', `deleted_at < ${RETENTION}`],
  // The newest event that was let in is older than the limit reaches back.
  ['intake_windows', 'coalesce(times[cardinality(times)], 0) + seconds + 3600 < extract(epoch from now())'],
  // No limit reaches back further than a day.
  ['rate_leases', `node_id is null and quiet_since < now() - interval '2 days'`],
  ['broker_messages', 'expires_at < now()'],
  ['broker_status', "updated_at < now() - interval '1 day'"],
  // While the source is there its positions are, however long its broker has been silent.
  ['broker_positions', 'not exists (select from sources s where s.id = source_id)'],
  // Hourly tries of six weeks.
  ['change_stream_slots', 'tries > 1000'],
  ['source_leases', "leased_until < now() - interval '1 day'"],
  // A fan-out of a deleted project is not delivered.
  ['expansions', 'project_id in (select id from projects where deleted_at is not null)'],
  // Nothing is open in the key. Its next event makes it again.
  ['ordering_keys', "head_id is null and used_at < now() - interval '1 day'"],
  ['delayed_events', 'deliver_at < now()'],
  ['subscriptions', `deleted_at < ${CONFIG} or project_id in ${GONE_PROJECTS}`],
  ['endpoints', `deleted_at < ${CONFIG} or project_id in ${GONE_PROJECTS}`],
  ['endpoint_totals', 'not exists (select from endpoints e where e.id = endpoint_id)'],
  ['sources', `deleted_at < ${CONFIG} or project_id in ${GONE_PROJECTS}`],
  ...[
    'event_types',
    'views',
    'failure_mutes',
    'devices',
    'api_keys',
    'portal_links',
    'jobs',
    'alerts',
    'endpoint_breakers',
    'attempt_templates',
    'ordering_keys',
    'ordered_deliveries',
    'delayed_events',
    'delivery_expiries',
  ].map((table): [string, string] => [table, `project_id in ${GONE_PROJECTS}`]),
  ['portal_tokens', 'not exists (select from portal_links l where l.id = portal_link_id)'],
  // Roles are at home, wherever the project has moved to.
  ['memberships', `project_id in ${GONE_PROJECTS} and project_id not in (${MOVED_PROJECTS})`],
  ['projects', `id in ${GONE_PROJECTS}`],
  ['people', `deactivated_at < ${RETENTION}`],
  ['sessions', 'expires_at < now()'],
  ['sign_in_links', 'expires_at < now()'],
  // After a day no failure counts any more. A known address counts for 30 days.
  [
    'sign_in_failures',
    "failed_at < now() - interval '1 day' and coalesce(succeeded_at < now() - interval '30 days', true)",
  ],
  ...['memberships', 'sessions', 'sign_in_links', 'identities'].map((table): [string, string] => [
    table,
    'not exists (select from people p where p.id = person_id)',
  ]),
];

export async function removeLeftovers(
  db: Database,
  before: { retentionMs: number; configMs: number },
  signal: AbortSignal,
): Promise<void> {
  // Not every condition has both parameters, but each needs a type.
  const typed = '$1::float8 is not null and $2::float8 is not null';
  const values = [before.retentionMs, before.configMs];
  const errors: unknown[] = [];
  for (const [table, condition] of LEFTOVERS) {
    const where = `(${condition}) and ${typed}`;
    // One table that fails keeps its rows, and the others lose theirs.
    await deleteInChunks(db, { table, where, values }, signal).catch((error) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, 'unneeded rows could not be removed');
}
