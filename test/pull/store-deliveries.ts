import { firstIdAt } from '../../src/domain/ids.ts';
import type { TestDatabase } from '../support/database.ts';

/** Rows as an accept stores them, without as many calls: the event type is `many`. */
export async function storeDeliveries(
  database: TestDatabase,
  to: { projectId: string; endpointId: string; count: number; payload: object },
): Promise<void> {
  const { projectId, endpointId, count } = to;
  const time = firstIdAt(Date.now()).slice(0, 10);
  const event = `${time}E${endpointId.slice(11)}`;
  await database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'many', 'Success', false, array[$3], $4, now())`,
    [event, projectId, endpointId, JSON.stringify(to.payload)],
  );
  await database.query(
    `with d as (
       insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, is_at_most_once, is_exponential,
         interval_seconds, max_retry_seconds, retry_limit, updated_at, next_send_at)
       select $1 || lpad(n::text, 16, '0'), $2, $3, $4, 'many', 'Scheduled', false, false, 1, 60, 50, now(), now()
       from generate_series(1, $5::int) n returning id
     )
     insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select id, $3, $2, $4, 0, now() from d`,
    [time, projectId, event, endpointId, count],
  );
}
