import type { Queryable } from '../database/database.ts';

/** Saved views: a page of the dashboard with its filters, under a name that all users of the project see. */
export interface ViewRow {
  id: string;
  project_id: string;
  page: string;
  name: string;
  query: string;
  updated_at: number;
}

const COLUMNS = 'id, project_id, page, name, query, updated_at';

/** By page and name. */
export function listViews(db: Queryable, projectId: string): Promise<ViewRow[]> {
  return db.query<ViewRow>(`select ${COLUMNS} from views where project_id = $1 order by page, name`, [
    projectId,
  ]);
}

/** The view that has this page and name, locked for a change. */
export async function viewNamed(
  tx: Queryable,
  projectId: string,
  { page, name }: Pick<ViewRow, 'page' | 'name'>,
): Promise<ViewRow | undefined> {
  const [row] = await tx.query<ViewRow>(
    `select ${COLUMNS} from views where project_id = $1 and page = $2 and name = $3 for update`,
    [projectId, page, name],
  );
  return row;
}

/** A view with the same page and name gets the new query. */
export async function saveView(tx: Queryable, view: Omit<ViewRow, 'updated_at'>): Promise<ViewRow> {
  const [row] = await tx.query<ViewRow>(
    `insert into views (id, project_id, page, name, query) values ($1, $2, $3, $4, $5)
     on conflict (project_id, page, name) do update set query = excluded.query, updated_at = now()
     returning ${COLUMNS}`,
    [view.id, view.project_id, view.page, view.name, view.query],
  );
  return row as ViewRow;
}

export async function deleteView(tx: Queryable, projectId: string, id: string): Promise<ViewRow | undefined> {
  const [row] = await tx.query<ViewRow>(
    `delete from views where project_id = $1 and id = $2 returning ${COLUMNS}`,
    [projectId, id],
  );
  return row;
}

export async function countViews(tx: Queryable, projectId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    'select count(*) as count from views where project_id = $1',
    [projectId],
  );
  return row?.count ?? 0;
}
