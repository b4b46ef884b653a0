import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import type { Queryable } from '../database/database.ts';
import { SILENT_SECONDS } from '../database/node-lease.ts';

/** The cell that DATABASE_URL is. */
export const HOME = { id: 1, name: '1' } as const;

export interface Cell {
  id: number;
  name: string;
  /** Null: the home itself, DATABASE_URL. */
  url: Secret<string> | null;
  /** Whether new projects may be made there. */
  takesProjects: boolean;
  addedAtMs: number;
}

/** By its name, which never changes. */
export const cellPlace = (name: string): string => `cell ${name}`;

/** In order of id. Empty: there are no cells but this database. Reads the home. */
export async function listCells(db: Queryable, sealer: Sealer): Promise<Cell[]> {
  const rows = await db.query<{
    id: number;
    name: string;
    sealed_url: Buffer | null;
    takes_projects: boolean;
    added_at: number;
  }>('select id, name, sealed_url, takes_projects, added_at from cells order by id');
  return rows.map(({ id, name, sealed_url, takes_projects, added_at }) => ({
    id,
    name,
    url: sealed_url === null ? null : Secret.sealed(() => sealer.open(sealed_url, cellPlace(name))),
    takesProjects: takes_projects,
    addedAtMs: added_at,
  }));
}

export async function insertHome(tx: Queryable): Promise<void> {
  await tx.query('insert into cells (id, name) values ($1, $2) on conflict do nothing', [HOME.id, HOME.name]);
}

/** Ids are never used twice: the largest one stays, because cells are not removed. */
export async function nextCellId(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ id: number }>('select coalesce(max(id), $1) + 1 as id from cells', [
    HOME.id,
  ]);
  return row?.id ?? HOME.id + 1;
}

/** False: the name or the id is taken. */
export async function insertCell(
  tx: Queryable,
  sealer: Sealer,
  cell: { id: number; name: string; url: string },
): Promise<boolean> {
  const rows = await tx.query(
    'insert into cells (id, name, sealed_url) values ($1, $2, $3) on conflict do nothing returning id',
    [cell.id, cell.name, sealer.seal(cell.url, cellPlace(cell.name))],
  );
  return rows.length > 0;
}

/** Which cell of which instance a database is, so that none is added twice, nor one of another instance. */
export interface CellIdentity {
  instanceId: string;
  cellId: number;
}

/** Undefined: it belongs to no cells yet. */
export async function readIdentity(db: Queryable): Promise<CellIdentity | undefined> {
  const [row] = await db.query<{ instance_id: string; cell_id: number }>(
    'select instance_id, cell_id from cell_identity',
  );
  return row && { instanceId: row.instance_id, cellId: row.cell_id };
}

/** The one that is there stays. Returns it. */
export async function keepIdentity(tx: Queryable, identity: CellIdentity): Promise<CellIdentity> {
  await tx.query('insert into cell_identity (instance_id, cell_id) values ($1, $2) on conflict do nothing', [
    identity.instanceId,
    identity.cellId,
  ]);
  return (await readIdentity(tx)) as CellIdentity;
}

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
