import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Actor, changeOf } from '../../domain/audit.ts';
import { parsePageRequest, queryValue } from '../../domain/pagination.ts';
import { sourceTypes } from '../../domain/source.ts';
import { changeConfig } from '../../store/config/config-version.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { deleteSubscriptionsOfSource } from '../../store/config/subscriptions.ts';
import { checkFunction } from '../http/check-function.ts';
import type { ApiContext } from '../http/context.ts';
import { found, mapPage, Nothing, oneOf, PageOf, pageQuery } from '../http/fields.ts';
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
    handle: async (call) => out(await create(context, call, call.body)),
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
        out(await update(context, { project, actor, id: params.sourceID }, body)),
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
    handle: (call) => remove(context, call, call.params.sourceID),
  });
}

interface By {
  project: ProjectRow;
  actor: Actor;
}

async function create(
  context: ApiContext,
  { project, actor }: By,
  body: Static<typeof CreateSource>,
): Promise<SourceRow> {
  const { ids, sources, cache } = context;
  const made = newSource(body);
  await checkFunctions(context, project, body);
  const row = await changeConfig(context, { projectId: project.id, actor }, async (tx, version) => {
    const saved = await sources.save(tx, { id: ids.next(), projectId: project.id, version, ...made });
    return { result: saved, audit: [changeOf('source.created', null, saved)] };
  });
  await cache.refresh(project.id);
  return row;
}

async function update(
  context: ApiContext,
  { project, actor, id }: By & { id: string },
  body: Static<typeof UpdateSource>,
): Promise<SourceRow> {
  const { sources, cache } = context;
  await checkFunctions(context, project, body);
  const row = await changeConfig(context, { projectId: project.id, actor }, async (tx, version) => {
    const known = found(await sources.get(tx, project.id, id), 'source', id);
    const changed = changedSource(known, body);
    const saved = await sources.save(tx, { id, projectId: project.id, version, ...changed });
    return { result: saved, audit: [changeOf('source.updated', known, saved)] };
  });
  await cache.refresh(project.id);
  return row;
}

async function checkFunctions(
  context: ApiContext,
  project: ProjectRow,
  body: Static<typeof UpdateSource>,
): Promise<void> {
  for (const field of ['body_function', 'header_function'] as const)
    await checkFunction(context, field, { projectId: project.id, code: body[field] ?? '' });
}

async function remove(context: ApiContext, { project, actor }: By, id: string): Promise<null> {
  const { sources, cache } = context;
  const source = { projectId: project.id, id };
  await changeConfig(context, { projectId: project.id, actor }, async (tx, version) => {
    const row = found(await sources.get(tx, project.id, id), 'source', id);
    await sources.delete(tx, source, version);
    const subscriptions = await deleteSubscriptionsOfSource(tx, source, version);
    const ended = subscriptions.map((subscription) => changeOf('subscription.deleted', subscription, null));
    return { result: null, audit: [changeOf('source.deleted', row, null), ...ended] };
  });
  await cache.refresh(project.id);
  return null;
}
