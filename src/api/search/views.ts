import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { changeOf } from '../../domain/audit.ts';
import { found, invalid } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { RequiredText, Text, Type } from '../../platform/type.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import {
  countViews,
  deleteView,
  listViews,
  saveView,
  type ViewRow,
  viewNamed,
} from '../../store/saved/views.ts';
import type { ReadContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { iso, Time } from '../http/fields.ts';

const MAX_VIEWS = 500;

const SaveView = Type.Object({
  page: RequiredText(50, 'The page of the dashboard, such as `deliveries`.'),
  name: RequiredText(100),
  query: Text(4_000, 'The filters of the page, as in the query of its address.'),
});

export const View = Type.Object({
  uid: Type.String(),
  ...SaveView.properties,
  created_at: Time,
  updated_at: Time,
});

/** Filters that are saved under a name, for all users of the project. */
export function registerViews(app: FastifyInstance, context: ReadContext): void {
  const { db, ids } = context;
  const listed = ({ project }: { project: ProjectRow }) => listViews(db, project.id);
  const view = crud(app, db, {
    tag: 'Views',
    noun: 'view',
    path: '/api/v1/projects/:projectID/views',
    param: 'viewID',
    data: View,
    access: { read: 'viewer', change: 'developer' },
    get: async (call, id) => (await listed(call)).find((row) => row.id === id),
    view: () => toView,
  });
  view.all({ summary: 'List the saved views by page and name.', read: listed });
  view.create({
    id: 'saveView',
    summary: 'Save a view. A view with the same page and name is replaced.',
    message: 'View saved',
    body: SaveView,
    make: ({ by, body }) => {
      const { page, name, query } = body;
      const wanted = { id: ids.next(), project_id: by.projectId, page, name, query };
      return audited(context, by, async (tx) => {
        const known = (await viewNamed(tx, by.projectId, body)) ?? null;
        if (known === null && (await countViews(tx, by.projectId)) >= MAX_VIEWS)
          throw invalid('name', `a project has at most ${MAX_VIEWS} views; delete one first`);
        const result = await saveView(tx, wanted);
        return { result, audit: [changeOf('view.saved', known, result)] };
      });
    },
  });
  view.remove({
    summary: 'Delete a saved view.',
    make: ({ by, params: { viewID: id } }) =>
      audited(context, by, async (tx) => {
        const gone = found(await deleteView(tx, by.projectId, id), 'view', id);
        return { result: null, audit: [changeOf('view.deleted', gone, null)] };
      }),
  });
}

function toView(row: ViewRow): Static<typeof View> {
  const { id, page, name, query } = row;
  return { uid: id, page, name, query, created_at: iso(idTime(id)), updated_at: updatedAt(row) };
}
