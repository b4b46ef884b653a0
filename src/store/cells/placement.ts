import type { Queryable } from '../database/database.ts';
import { SILENT_SECONDS } from '../database/node-lease.ts';

/** The facts about a cell that decide where a new project goes. */
export interface CellLoad {
  projects: number;
  /** Nodes that serve it now. Each process has one in every cell that it knows. */
  nodes: number;
  /** Whether the call was made before, and here. */
  hasOnce: boolean;
  hasName: boolean;
}

export async function cellLoad(
  db: Queryable,
  { name, onceId }: { name: string; onceId: string | undefined },
): Promise<CellLoad> {
  const [row] = await db.query<CellLoad>(
    `select (select count(*) from projects where deleted_at is null) as projects,
            (select count(*) from nodes where beat_at > now() - make_interval(secs => $1)) as nodes,
            exists (select from idempotency_keys where id = $2) as "hasOnce",
            exists (select from projects where name = $3 and deleted_at is null) as "hasName"`,
    [SILENT_SECONDS, onceId ?? '', name],
  );
  return row as CellLoad;
}
