import { firstIdAt } from '../../../src/domain/ids.ts';
import type { TestApp } from '../app.ts';
import type { Json } from '../client.ts';

/**
 * Fills the tables with failed deliveries of one endpoint, without sending anything. Returns the deliveries'
 * ids in order.
 */
export async function failedDeliveries(
  app: TestApp,
  wanted: { endpoint: Json; subscription: Json; count: number },
): Promise<string[]> {
  const { endpoint, subscription, count } = wanted;
  const time = firstIdAt(Date.now() - 1_000).slice(0, 10);
  const event = `${time}E${endpoint.uid.slice(11)}`;
  await app.database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'many', 'Success', false, array[$3], '{}', now())`,
    [event, app.projectId, endpoint.uid],
  );
  const rows = await app.database.query(
    `insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
       is_at_most_once, is_exponential, interval_seconds, max_retry_seconds, retry_limit, num_trials, updated_at)
     select $1 || substr(md5($2), 1, 6) || lpad(n::text, 10, '0'), $3, $4, $2, $5, 'many', 'Failure',
       false, false, 60, 7200, 1, 1, now()
     from generate_series(1, $6::int) n returning id`,
    [time, endpoint.uid, app.projectId, event, subscription.uid, count],
  );
  return rows.map((row) => String(row['id'])).sort();
}
