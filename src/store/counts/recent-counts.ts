import { isReceiver, type LeasedDelivery, RECEIVER_URL, TEST_EVENT_TYPE } from '../../domain/delivery.ts';
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

const ENDS = ['Success', 'Failure', 'Discarded'] as const;

/**
 * The end of a statement that ended deliveries by hand, or opened ended ones again. `ended` has their endpoint_id,
 * event_id, event_type, status, and updated_at as the time of their end. A delivery that is open again takes its count out
 * of the minute of its end, so that each delivery is counted in one state at most.
 */
export function countEnds(projectId: string, change: '+' | '-'): string {
  const counts = ENDS.map((status) => `${change}count(*) filter (where ended.status = '${status}')`);
  return `insert into recent_counts (project_id, endpoint_id, source_id, minute, delivered, failed, discarded)
  select ${projectId}, ended.endpoint_id, e.source_id, date_trunc('minute', ended.updated_at), ${counts.join(', ')}
  from ended join events e on e.project_id = ${projectId} and e.id = ended.event_id
  where ended.event_type <> '${TEST_EVENT_TYPE}' and not exists (
    select from endpoints n where n.id = ended.endpoint_id and starts_with(n.url, '${RECEIVER_URL}'))
  group by 2, 3, 4`;
}
