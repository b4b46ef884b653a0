import type { TestDatabase } from '../support/database.ts';

/** Everything a database holds, as text: every row of every table, bytes in hex and as the text they may be. */
export async function dump(database: TestDatabase): Promise<string> {
  const tables = await database.query(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'm') and not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  const parts: string[] = [];
  for (const { name } of tables as { name: string }[]) {
    const rows = await database.query(`select t as row, to_jsonb(t) as json, t::text as text from ${name} t`);
    const columns = await database.query(
      `select attname from pg_attribute where attrelid = $1::regclass and atttypid = 'bytea'::regtype and not attisdropped`,
      [name],
    );
    for (const { text, json } of rows) parts.push(`${name}: ${String(text)}`, JSON.stringify(json));
    for (const { attname } of columns as { attname: string }[]) {
      for (const { bytes } of await database.query(`select ${attname} as bytes from ${name}`)) {
        if (bytes === null) continue;
        parts.push((bytes as Buffer).toString('latin1'), (bytes as Buffer).toString());
      }
    }
  }
  // Settings and statistics, and what sessions say of themselves.
  for (const view of ['pg_stat_activity', 'pg_stats']) {
    for (const { text } of await database.query(`select t::text as text from ${view} t`))
      parts.push(String(text));
  }
  return parts.join('\n');
}
