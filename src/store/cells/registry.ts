import { BATCH_LANE, LANE, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import type { Queryable } from '../database/database.ts';
import { UNPARKED } from './queue-parking.ts';

/**
 * How each table of the schema travels when a project moves to another cell. A test compares it with the schema, so that a
 * new table is not forgotten. Columns are read from the catalog: only those that do not travel as they are have a name here.
 *
 * `:project` is the id of the project. The clocks of two databases differ, so the times of leases, retries and windows travel as
 * ages: `:shift` is what the target's clock is ahead, in milliseconds.
 */
type Travel =
  /**
   * Copied while the project works, in chunks along `by`, then what changed since. After the project has closed, only rows
   * that are new are left: `late` finds them.
   */
  | { how: 'history'; by: string; late: string }
  /** Copied in the transaction of the switch. `columns`: as they are written, where that is not as they are. */
  | { how: 'switch'; rows: string; columns?: Readonly<Record<string, string>> }
  /** No column says whose the rows are, so all of them are copied. They do no harm. */
  | { how: 'shared' }
  | { how: 'stays'; why: string };

/** Rows with an id from here on may have been written since the last pass. */
const NEW_IDS = (column: string): string => `${column} >= :recent`;
const OF_PROJECT = 'project_id = :project';
const OF_ENDPOINTS = 'endpoint_id in (select id from endpoints where project_id = :project)';
const OF_LINKS = 'portal_link_id in (select id from portal_links where project_id = :project)';
const AHEAD = "interval '1 millisecond' * :shift";

const stays = (why: string): Travel => ({ how: 'stays', why });
const atSwitch = (rows = OF_PROJECT, columns: Record<string, string> = {}): Travel => ({
  how: 'switch',
  rows,
  columns,
});

/** Rows that others refer to come after those: a removal goes in this order. */
export const registry: Readonly<Record<string, Travel>> = {
  events: { how: 'history', by: 'id', late: NEW_IDS('id') },
  event_deliveries: { how: 'history', by: 'id', late: NEW_IDS('id') },
  delivery_attempts: { how: 'history', by: 'delivery_id', late: NEW_IDS('delivery_id') },
  meta_events: { how: 'history', by: 'id', late: NEW_IDS('id') },
  audit_entries: { how: 'history', by: 'id', late: NEW_IDS('id') },
  event_keys: {
    how: 'history',
    by: 'key',
    late: 'key in (select idempotency_key from events where project_id = :project and id >= :recent)',
  },
  // Counts are added up until the end: all rows are looked at.
  traffic: { how: 'history', by: 'subject_id', late: 'true' },

  delivery_queue: atSwitch(OF_PROJECT, {
    node_id: 'null',
    fence: UNPARKED.fence,
    // A first try is due at a time that its caller gave, or at once.
    due_at: `${UNPARKED.due_at} + case when lane % ${WAITS_FOR_TURN} in (${LANE.retry}, ${LANE.leased}) or lane = ${BATCH_LANE.formed} then ${AHEAD} else interval '0' end`,
  }),
  expansions: atSwitch(),
  ordered_deliveries: atSwitch(),
  ordering_keys: atSwitch(),
  delayed_events: atSwitch(),
  delivery_expiries: atSwitch(),
  recent_counts: atSwitch(),
  endpoint_totals: atSwitch(OF_ENDPOINTS),
  attempt_templates: atSwitch(),
  endpoint_breakers: atSwitch(OF_PROJECT, {
    changed_at: `changed_at + ${AHEAD}`,
    probe_until: `probe_until + ${AHEAD}`,
  }),
  rate_leases: atSwitch(OF_ENDPOINTS, { node_id: 'null', quiet_since: `quiet_since + ${AHEAD}` }),
  intake_windows: atSwitch('key = :project or key in (select id from sources where project_id = :project)', {
    times: 'array(select t + :shift / 1000.0 from unnest(times) with ordinality as at(t, n) order by n)',
  }),
  alerts: atSwitch(),
  alert_failures: atSwitch(),
  broker_positions: atSwitch(),
  broker_messages: atSwitch(),
  change_stream_slots: atSwitch(),
  jobs: atSwitch(),
  views: atSwitch(),
  failure_mutes: atSwitch(),
  devices: atSwitch(),
  event_types: atSwitch(),
  api_keys: atSwitch(),
  portal_tokens: atSwitch(OF_LINKS),
  portal_links: atSwitch(),
  subscriptions: atSwitch(),
  endpoints: atSwitch(),
  sources: atSwitch(),
  projects: atSwitch('id = :project', {
    version: 'version + 1',
    cell_epoch: ':epoch',
    cell_state: 'null',
  }),

  idempotency_keys: { how: 'shared' },

  broker_status: stays('the node that runs the source writes its own'),
  source_leases: stays('the node that takes from the source has its own'),
  nodes: stays('nodes beat in every cell'),
  people: stays('home'),
  identities: stays('home'),
  sessions: stays('home'),
  sign_in_links: stays('home'),
  sign_in_failures: stays('home'),
  memberships: stays('home'),
  cells: stays('home'),
  secret_keys: stays('the same in every cell'),
  instance_secrets: stays('the same in every cell'),
  cell_identity: stays('of the database'),
  project_moves: stays('of the database'),
  schema_migrations: stays('of the database'),
};

export type HistoryTable = { table: string } & Extract<Travel, { how: 'history' }>;
type SwitchTable = { table: string } & Extract<Travel, { how: 'switch' }>;

export const historyTables: readonly HistoryTable[] = Object.entries(registry).flatMap(([table, travel]) =>
  travel.how === 'history' ? [{ table, ...travel }] : [],
);
export const switchTables: readonly SwitchTable[] = Object.entries(registry).flatMap(([table, travel]) =>
  travel.how === 'switch' ? [{ table, ...travel }] : [],
);

/** How many rows of each table go with a project, those without any left out. */
export async function countRows(
  db: Queryable,
  projectId: string,
): Promise<{ table: string; rows: number }[]> {
  const counted: { table: string; rows: number }[] = [];
  const tables = [...historyTables.map(({ table }) => ({ table, rows: 'project_id = $1' })), ...switchTables];
  for (const { table, rows } of tables) {
    const [found] = await db.query<{ count: number }>(
      `select count(*)::int as count from ${table} where ${rows.replaceAll(':project', '$1')}`,
      [projectId],
    );
    if ((found?.count ?? 0) > 0) counted.push({ table, rows: found?.count ?? 0 });
  }
  return counted;
}
