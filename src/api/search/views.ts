import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { changeOf } from '../../domain/audit.ts';
import { found, invalid } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { RequiredText, Text, Type } from '../../platform/type.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import {
  countViews,
  deleteView,
  listViews,
  saveView,
  type ViewRow,
  viewNamed,
} from '../../store/saved/views.ts';
import type { ApiContext } from '../http/context.ts';
import { iso, Nothing, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const path = '/api/v1/projects/:projectID/views';
const route = operationsOf('Views');
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
export function registerViews(app: FastifyInstance, context: ApiContext): void {
  const { db, ids } = context;
  route.get(app, path, {
    id: 'listViews',
    summary: 'List the saved views by page and name.',
    message: 'Views fetched',
    data: Type.Array(View),
    access: 'viewer',
    handle: async ({ project }) => (await listViews(db, project.id)).map(toView),
  });
  route.post(app, path, {
    id: 'saveView',
    summary: 'Save a view. A view with the same page and name is replaced.',
    body: SaveView,
    status: 201,
    message: 'View saved',
    data: View,
    access: 'developer',
    handle: async ({ by, body }) => {
      const { page, name, query } = body;
      const view = { id: ids.next(), project_id: by.projectId, page, name, query };
      const saved = await audited(context, by, async (tx) => {
        const known = (await viewNamed(tx, by.projectId, body)) ?? null;
        if (known === null && (await countViews(tx, by.projectId)) >= MAX_VIEWS)
          throw invalid('name', `a project has at most ${MAX_VIEWS} views; delete one first`);
        const result = await saveView(tx, view);
        return { result, audit: [changeOf('view.saved', known, result)] };
      });
      return toView(saved);
    },
    again: async ({ project }, { id }) => {
      const views = await listViews(db, project.id);
      return toView(
        found(
          views.find((view) => view.id === id),
          'view',
          id,
        ),
      );
    },
  });
  route.delete(app, `${path}/:viewID`, {
    id: 'deleteView',
    summary: 'Delete a saved view.',
    message: 'View deleted',
    data: Nothing,
    access: 'developer',
    handle: async ({ by, params }) => {
      const id = params.viewID;
      await audited(context, by, async (tx) => {
        const gone = found(await deleteView(tx, by.projectId, id), 'view', id);
        return { result: null, audit: [changeOf('view.deleted', gone, null)] };
      });
      return null;
    },
  });
}

function toView(row: ViewRow): Static<typeof View> {
  const { id, page, name, query } = row;
  return { uid: id, page, name, query, created_at: iso(idTime(id)), updated_at: updatedAt(row) };
}
