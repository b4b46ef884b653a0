import type { Queryable } from '../database/database.ts';

/** The status of broker sources: one row for each source and node. */
export interface BrokerStatusRow {
  sourceId: string;
  projectId: string;
  state: string;
  reason: string;
  lastMessageAt: number | null;
  lastError: string;
  lastErrorAt: number | null;
  lag: number | null;
}

/** Nodes write every ten seconds: what is older than this was said by one that is gone. */
const FRESH = "interval '30 seconds'";

export async function saveBrokerStatus(
  db: Queryable,
  nodeId: string,
  rows: readonly BrokerStatusRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await db.query(
    `insert into broker_status (source_id, node_id, project_id, state, reason, last_message_at, last_error, last_error_at, lag)
     select source_id, $1, project_id, state, reason, to_timestamp(message_ms / 1000), last_error,
       to_timestamp(error_ms / 1000), lag
     from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[], $8::float8[], $9::bigint[])
       as s(source_id, project_id, state, reason, message_ms, last_error, error_ms, lag)
     on conflict (source_id, node_id) do update set state = excluded.state, reason = excluded.reason,
       last_message_at = excluded.last_message_at, last_error = excluded.last_error,
       last_error_at = excluded.last_error_at, lag = excluded.lag, updated_at = now()`,
    [
      nodeId,
      rows.map((row) => row.sourceId),
      rows.map((row) => row.projectId),
      rows.map((row) => row.state),
      rows.map((row) => row.reason),
      rows.map((row) => row.lastMessageAt),
      rows.map((row) => row.lastError),
      rows.map((row) => row.lastErrorAt),
      rows.map((row) => row.lag),
    ],
  );
}

export async function removeBrokerStatus(
  db: Queryable,
  nodeId: string,
  sourceIds: readonly string[],
): Promise<void> {
  if (sourceIds.length === 0) return;
  await db.query('delete from broker_status where node_id = $1 and source_id = any($2)', [nodeId, sourceIds]);
}

/** The status of each of the sources, by the nodes that are alive. */
export async function readBrokerStatus(
  db: Queryable,
  projectId: string,
  sourceIds: readonly string[],
): Promise<Map<string, BrokerStatusRow[]>> {
  if (sourceIds.length === 0) return new Map();
  const rows = await db.query<BrokerStatusRow>(
    `select source_id as "sourceId", project_id as "projectId", state, reason, last_message_at as "lastMessageAt",
       last_error as "lastError", last_error_at as "lastErrorAt", lag
     from broker_status where source_id = any($2) and project_id = $1 and updated_at > now() - ${FRESH}`,
    [projectId, sourceIds],
  );
  return Map.groupBy(rows, ({ sourceId }) => sourceId);
}
