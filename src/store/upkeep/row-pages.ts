import type { Queryable } from '../database/database.ts';
import type { Partition, PartitionedTable } from './partitions.ts';

/** Keys of the rows of a table, in pages: each is read by a statement of its own, so that no snapshot stays open. */
export interface RowKey {
  project_id: string;
  id: string;
}

const PAGE_ROWS = 1_000;
/** About as many rows of most tables. */
const PAGE_BLOCKS = 64;

async function* pagesBehind(read: (after: RowKey) => Promise<RowKey[]>): AsyncGenerator<RowKey[]> {
  for (let after: RowKey = { project_id: '', id: '' }; ; ) {
    const page = await read(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last;
  }
}

/** Rows of a project below an id. */
export const pagesOfProject = (
  db: Queryable,
  table: PartitionedTable,
  { projectId, below }: { projectId: string; below: string },
): AsyncGenerator<RowKey[]> =>
  pagesBehind(({ id }) =>
    db.query<RowKey>(
      `select project_id, id from ${table} where project_id = $1 and id > $2 and id < $3
       order by id limit ${PAGE_ROWS}`,
      [projectId, id, below],
    ),
  );

/**
 * Rows of a partition, in the order of its blocks. Rows of a project are all over the table: in the order of projects a
 * page of 1,000 rows has changed 1,000 blocks, and each block was written again for every project. Once a vacuum has found
 * fewer rows than blocks, the few are read by key.
 */
export async function* pagesOfPartition(db: Queryable, { name }: Partition): AsyncGenerator<RowKey[]> {
  const [size] = await db.query<{ blocks: number; is_sparse: boolean }>(
    `select (pg_relation_size(oid) / current_setting('block_size')::int)::int as blocks,
       reltuples >= 0 and reltuples < relpages as is_sparse
     from pg_class where oid = $1::regclass`,
    [name],
  );
  if (size?.is_sparse === true) yield* pagesByKey(db, name);
  else yield* pagesByBlock(db, name, size?.blocks ?? 0);
}

const pagesByKey = (db: Queryable, name: string): AsyncGenerator<RowKey[]> =>
  pagesBehind(({ project_id, id }) =>
    db.query<RowKey>(
      `select project_id, id from ${name} where (project_id, id) > ($1, $2)
       order by project_id, id limit ${PAGE_ROWS}`,
      [project_id, id],
    ),
  );

async function* pagesByBlock(db: Queryable, name: string, blocks: number): AsyncGenerator<RowKey[]> {
  for (let block = 0; block < blocks; block += PAGE_BLOCKS) {
    const rows = await db.query<RowKey>(
      `select project_id, id from ${name} where ctid >= $1::tid and ctid < $2::tid order by project_id, id`,
      [`(${block},0)`, `(${block + PAGE_BLOCKS},0)`],
    );
    for (let n = 0; n < rows.length; n += PAGE_ROWS) yield rows.slice(n, n + PAGE_ROWS);
  }
}
