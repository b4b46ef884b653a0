import type { Place } from '../../domain/delivery.ts';
import type { QueueRowKey } from '../../domain/delivery-sink.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/** A row of the queue as its holder knows it. */
interface Fenced extends QueueRowKey {
  fence: number;
}

interface Release {
  nodeId: string;
  rows: readonly (QueueRowKey & { fence?: number })[];
}

const release = new Parameters<Release>();
const holder = release.one('text', ({ nodeId }) => nodeId);
const released = release.rows(
  ({ rows }) => rows,
  [
    ['project_id', 'id', (row) => row.projectId],
    ['id', 'id', (row) => row.id],
    ['fence', 'int', (row) => row.fence ?? null],
  ],
);
const RELEASE = `
update delivery_queue q set node_id = null, fence = q.fence + 1
from ${released.as('r')}
where ${byKey('q.delivery_id', 'r.id')} and q.node_id = ${holder} and coalesce(q.fence = r.fence, true)
returning q.project_id as "projectId", q.key, q.lane`;

/**
 * Releases those of the rows that this node leases, unattempted: due at once, for any node. Returns where they wait. A row
 * without a fence is released under any: the caller makes sure that this node does not work on it.
 */
export function releaseRows(db: Database, nodeId: string, rows: Release['rows']): Promise<Place[]> {
  return db.hot('release-rows', RELEASE, release.values({ nodeId, rows }));
}

/** Records that an at-most-once delivery is about to be sent. False: this node no longer leases it. */
export async function markStarted(db: Database, nodeId: string, delivery: Fenced): Promise<boolean> {
  const rows = await db.hot(
    'mark-started',
    `update delivery_queue set is_started = true
     where project_id = $1 and delivery_id = $2 and node_id = $3 and fence = $4 returning delivery_id`,
    [delivery.projectId, delivery.id, nodeId, delivery.fence],
  );
  return rows.length > 0;
}
