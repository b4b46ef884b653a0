import { isReceiver, type LeasedDelivery, TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/**
 * Counts that are not added up yet (add-up-counts.ts). Statements that end deliveries insert them in their own commit.
 * Events and new deliveries are counted by nodes in memory, because that costs the commit of an event nothing.
 */

/** Tests, and deliveries to the built-in receiver, count nowhere. */
export function isCounted(
  { eventType }: Pick<LeasedDelivery, 'eventType'>,
  url: string | undefined,
): boolean {
  return eventType !== TEST_EVENT_TYPE && !(url !== undefined && isReceiver(url));
}

/** Events of a project or source, or deliveries to an endpoint. */
interface Accepted {
  projectId: string;
  sourceId: string | null;
  endpointId: string | null;
  count: number;
}

const parameters = new Parameters<readonly Accepted[]>();
const rows = parameters.rows(
  (batch) => batch,
  [
    ['project_id', 'id', (row) => row.projectId],
    ['source_id', 'id', (row) => row.sourceId],
    ['endpoint_id', 'id', (row) => row.endpointId],
    ['count', 'int', (row) => row.count],
  ],
);
const ADD_ACCEPTED = `
insert into recent_counts (project_id, source_id, endpoint_id, minute, events, deliveries)
select project_id, source_id, endpoint_id, date_trunc('minute', now()),
  case when endpoint_id is null then count else 0 end, case when endpoint_id is null then 0 else count end
from ${rows.as('a')}`;

export async function addAccepted(db: Database, accepted: readonly Accepted[]): Promise<void> {
  await db.query(ADD_ACCEPTED, parameters.values(accepted));
}

/** The end of a statement that ended deliveries by hand: `ended` has their endpoint_id, event_id, event_type and status. */
export function countEnded(projectId: string): string {
  return `insert into recent_counts (project_id, endpoint_id, source_id, minute, failed, discarded)
  select ${projectId}, endpoint_id, e.source_id, date_trunc('minute', now()),
    count(*) filter (where ended.status = 'Failure'), count(*) filter (where ended.status = 'Discarded')
  from ended join events e on e.project_id = ${projectId} and e.id = ended.event_id
  where ended.event_type <> '${TEST_EVENT_TYPE}'
  group by endpoint_id, e.source_id`;
}
