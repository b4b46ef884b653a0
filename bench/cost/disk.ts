import type { Sample } from '../figure.ts';
import type { Service } from '../service.ts';

/**
 * Disk per event: in all, and by table, heap, toast and index. It counts the partitions that rows went into since
 * the service started on empty ones, so a history table that is added later is counted too. The queue and the
 * counts are not history: they do not grow with the number of events.
 */
const PARTS = `
  with grown as (
    select c.oid, c.reltoastrelid as toast, i.inhparent::regclass::text as history
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where c.relkind = 'r' and pg_relation_size(c.oid) > 0
  ), toasts as (
    select oid, history, coalesce(pg_total_relation_size(nullif(toast, 0)), 0) as bytes from grown
  ), parts as (
    select history || '_heap' as part, pg_table_size(oid) - bytes as bytes from toasts
    union all select history || '_toast', bytes from toasts
    union all select coalesce(p.inhparent, x.indexrelid)::regclass::text, pg_table_size(x.indexrelid)
      from grown join pg_index x on x.indrelid = grown.oid left join pg_inherits p on p.inhrelid = x.indexrelid
  )
  select part, sum(bytes)::float8 as bytes from parts group by part order by part`;

export async function diskPerEvent(service: Service): Promise<Sample> {
  await service.db.query('checkpoint');
  const { rows } = await service.db.query<{ part: string; bytes: number }>(PARTS);
  const { stored } = await service.query<{ stored: number }>('select count(*)::int as stored from events');
  const sample: Sample = { diskPerEvent: 0 };
  for (const { part, bytes } of rows) {
    sample[`disk_${part}`] = bytes / stored;
    (sample['diskPerEvent'] as number) += bytes / stored;
  }
  return sample;
}
