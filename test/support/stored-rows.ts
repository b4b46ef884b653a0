import type { TestDatabase } from './database.ts';

/**
 * The number of rows in each table, and of config changes. They are equal before and after a call that stored
 * nothing.
 */
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
