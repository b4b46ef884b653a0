import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { By } from '../../control/config-changes.ts';
import { createSource, deleteSource, updateSource } from '../../control/source-changes.ts';
import { found } from '../../domain/errors.ts';
import { parsePageRequest, queryValue } from '../../domain/pagination.ts';
import { sourceTypes } from '../../domain/source.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { checkFunction } from '../http/check-function.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, oneOf, PageOf, pageQuery } from '../http/fields.ts';
import { registerOperation } from '../http/operation.ts';
import { changedSource, newSource } from './source-input.ts';
import { CreateSource, Source, toSource, UpdateSource } from './source-schema.ts';

const path = '/api/v1/projects/:projectID/sources';
const onePath = `${path}/:sourceID` as const;
const tag = 'Sources';

export function registerSources(app: FastifyInstance, context: ApiContext): void {
  const { db, sources } = context;
  const out = (row: SourceRow) => toSource(row, context.publicUrl());
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createSource',
    tag,
    summary: 'Create a source.',
    body: CreateSource,
    status: 201,
    message: 'Source created',
    data: Source,
    handle: async ({ project, actor, body }) =>
      out(await create(context, { projectId: project.id, actor }, body)),
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listSources',
    tag,
    summary: 'List sources.',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      type: Type.Optional(oneOf(sourceTypes)),
      provider: Type.Optional(Type.String()),
    }),
    status: 200,
    message: 'Sources fetched',
    data: PageOf(Source),
    handle: async ({ project, query }) =>
      mapPage(
        await sources.list(db, project.id, {
          page: parsePageRequest(query),
          name: queryValue(query, 'q'),
          type: queryValue(query, 'type'),
          provider: queryValue(query, 'provider'),
        }),
        out,
      ),
  });
  registerOperation(app, {
    method: 'GET',
    path: onePath,
    id: 'getSource',
    tag,
    summary: 'Get a source.',
    status: 200,
    message: 'Source fetched',
    data: Source,
    handle: async ({ project, params }) => {
      const id = params.sourceID;
      return out(found(await sources.get(db, project.id, id), 'source', id));
    },
  });
  for (const method of ['PUT', 'POST'] as const) {
    registerOperation(app, {
      method,
      path: onePath,
      id: method === 'PUT' ? 'updateSource' : 'updateSourceByPost',
      tag,
      summary: 'Update a source. Fields that are not named keep their value.',
      body: UpdateSource,
      status: 202,
      message: 'Source updated',
      data: Source,
      handle: async ({ project, params, actor, body }) =>
        out(await update(context, { projectId: project.id, actor, id: params.sourceID }, body)),
    });
  }
  registerOperation(app, {
    method: 'DELETE',
    path: onePath,
    id: 'deleteSource',
    tag,
    summary: 'Delete a source and its subscriptions.',
    status: 200,
    message: 'Source deleted',
    data: Nothing,
    handle: ({ project, params, actor }) =>
      deleteSource(context.changes, { projectId: project.id, actor, id: params.sourceID }),
  });
}

async function create(context: ApiContext, by: By, body: Static<typeof CreateSource>): Promise<SourceRow> {
  const made = newSource(body);
  await checkFunctions(context, by.projectId, body);
  return createSource(context.changes, by, made);
}

async function update(
  context: ApiContext,
  one: By & { id: string },
  body: Static<typeof UpdateSource>,
): Promise<SourceRow> {
  await checkFunctions(context, one.projectId, body);
  return updateSource(context.changes, one, (known) => changedSource(known, body));
}

async function checkFunctions(
  context: ApiContext,
  projectId: string,
  body: Static<typeof UpdateSource>,
): Promise<void> {
  for (const field of ['body_function', 'header_function'] as const)
    await checkFunction(context, field, { projectId, code: body[field] ?? '' });
}
