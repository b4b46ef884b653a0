import type { Line } from './line.ts';

/**
 * An old primary is marked as the one to use by a comment on a table. A comment is replicated as rows are, every role may
 * read it, and reading it does not fail before the first migration.
 */
const TABLE = 'schema_migrations';
const MARK = 'accepted as the primary, in place of a newer one, at ';

/** Milliseconds since 1970; 0: it has no mark. A float, so that every connection reads a number. */
export const ACCEPTED_AT = `coalesce(substring(obj_description(to_regclass('${TABLE}'), 'pg_class') from '^${MARK}(\\d+)$'), '0')::float8`;

/** Marks the server again, unless that has happened since it was seen. Two nodes may do it at a time. */
export async function acceptPrimary(
  client: { query(text: string): Promise<unknown> },
  { acceptedAtMs }: Pick<Line, 'acceptedAtMs'>,
): Promise<void> {
  await client.query(`do $do$ begin
    lock table ${TABLE} in share update exclusive mode;
    if ${ACCEPTED_AT} = ${acceptedAtMs} then
      execute format('comment on table ${TABLE} is %L',
        '${MARK}' || greatest(${acceptedAtMs} + 1, floor(extract(epoch from clock_timestamp()) * 1000))::bigint);
    end if;
  end $do$`);
}
