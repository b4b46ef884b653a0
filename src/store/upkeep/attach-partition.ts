import type { Queryable } from '../database/database.ts';
import type { Partition } from './partitions.ts';
import { inTime } from './upkeep-lock.ts';

/**
 * Attaches a partition again that was detached and not dropped. No rows are read: the check that the detach left proves
 * that they fit. False: other transactions blocked it for too long.
 */
export async function attachAgain(session: Queryable, partition: Partition): Promise<boolean> {
  const { table, name, from, to } = partition;
  const changes = await columnChanges(session, partition);
  if (changes.length > 0 && !(await inTime(session, `alter table ${name} ${changes.join(', ')}`)))
    return false;
  return inTime(
    session,
    `alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`,
  );
}

/** A migration does not reach a detached table, so it lacks columns that were added since, and has those that were removed. */
async function columnChanges(session: Queryable, { table, name }: Partition): Promise<string[]> {
  const rows = await session.query<{ change: string }>(
    `with columns as (
       select attrelid, attname, atttypid, atttypmod, attcollation, attnotnull, attnum from pg_attribute
       where attrelid in ($1::regclass, $2::regclass) and attnum > 0 and not attisdropped
     )
     select concat_ws(' ', 'add column', quote_ident(attname), format_type(atttypid, atttypmod),
         'collate ' || quote_ident(l.collname), 'default ' || pg_get_expr(d.adbin, d.adrelid),
         case when attnotnull then 'not null' end) as change
     from columns c left join pg_attrdef d on d.adrelid = attrelid and d.adnum = c.attnum
       left join pg_collation l on l.oid = attcollation
     where attrelid = $1::regclass and attname not in (select attname from columns where attrelid = $2::regclass)
     union all
     select 'drop column ' || quote_ident(attname) from columns
     where attrelid = $2::regclass and attname not in (select attname from columns where attrelid = $1::regclass)`,
    [table, name],
  );
  return rows.map(({ change }) => change);
}
