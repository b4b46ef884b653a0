import type { TestDatabase } from './database.ts';

/** How many rows each table holds, and how often config changed: equal before and after a call that stored nothing. */
const TABLES = [
  'projects',
  'api_keys',
  'endpoints',
  'subscriptions',
  'events',
  'event_keys',
  'event_deliveries',
  'delivery_queue',
  'delivery_attempts',
];

export async function storedRows(database: TestDatabase): Promise<Record<string, unknown>> {
  const counts = TABLES.map((table) => `(select count(*)::int from ${table}) as ${table}`);
  const [row] = await database.query(
    `select ${counts.join(', ')}, (select sum(version)::int from projects) as changes`,
  );
  return row ?? {};
}
