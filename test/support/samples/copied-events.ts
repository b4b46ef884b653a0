import type { TestApp } from '../app.ts';
import type { Json } from '../client.ts';

/** Stores copies of an event, with ids of its millisecond. Nothing is sent. */
export async function copyEvent({ database }: TestApp, { uid }: Json, count: number): Promise<void> {
  const [columns] = await database.query(
    `select string_agg(quote_ident(attname), ', ') as names from pg_attribute
     where attrelid = 'events'::regclass and attnum > 0 and not attisdropped and attname <> 'id'`,
  );
  const names = String(columns?.['names']);
  await database.query(
    `insert into events (id, ${names}) select left(id, 22) || lpad(n::text, 4, '0'), ${names}
     from events, generate_series(1, $2::int) n where id = $1`,
    [uid, count],
  );
}
