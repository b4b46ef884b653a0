import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import {
  createSource,
  deleteSource,
  type SourceContent,
  updateSource,
} from '../../control/source-changes.ts';
import { sourceTypes } from '../../domain/config/source.ts';
import { found } from '../../domain/errors.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import { parsePageRequest, queryValue, queryWords } from '../../domain/pagination.ts';
import { verifiesBySignature } from '../../ingest/verify/compile-verifier.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { checkWorkload } from '../brokers/check-workload.ts';
import { checkFunction, withoutMaskedCode } from '../http/check-function.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { changedSource, newSource } from './source-input.ts';
import { CreateSource, Source, toSource, UpdateSource } from './source-schema.ts';
import { sourceStatuses } from './source-status.ts';

const path = '/api/v1/projects/:projectID/sources';
const onePath = `${path}/:sourceID` as const;
const route = operationsOf('Sources');

export function registerSources(app: FastifyInstance, context: ApiContext): void {
  const { db, sources, changes } = context;
  const shown = async (projectId: ProjectId, rows: readonly SourceRow[]) => {
    const statuses = await sourceStatuses(db, projectId, rows);
    return (row: SourceRow) => toSource(row, context.publicUrl(), statuses.get(row.id) ?? null);
  };
  const show = async (row: SourceRow, request: FastifyRequest) => {
    warnOfUnsigned(row, request);
    return (await shown(row.project_id, [row]))(row);
  };
  route.post(app, path, {
    id: 'createSource',
    summary: 'Create a source.',
    body: CreateSource,
    status: 201,
    message: 'Source created',
    data: Source,
    dryRun: true,
    access: 'developer',
    handle: async ({ by, body }, request) => {
      const made = newSource(body, context.now());
      checkSource(context, made);
      await checkFunctions(context, by.projectId, body);
      return show(await createSource(changes, by, made), request);
    },
    again: async ({ project }, { id }, { request }) =>
      show(found(await sources.get(db, project.id, asId(id)), 'source', id), request),
  });
  route.get(app, path, {
    id: 'listSources',
    summary: 'List sources.',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      type: Type.Optional(oneOf(sourceTypes)),
      provider: Type.Optional(Type.String()),
    }),
    message: 'Sources fetched',
    data: PageOf(Source),
    access: 'viewer',
    handle: async ({ project, query }) => {
      const list = {
        page: parsePageRequest(query),
        name: queryValue(query, 'q'),
        type: queryWords(query, 'type', sourceTypes).at(-1),
        provider: queryValue(query, 'provider'),
      };
      const page = await db.reading(project.id, (tx) => sources.list(tx, project.id, list));
      return mapPage(page, await shown(project.id, page.rows));
    },
  });
  route.get(app, onePath, {
    id: 'getSource',
    summary: 'Get a source.',
    message: 'Source fetched',
    data: Source,
    access: 'viewer',
    handle: async ({ project, params }, request) => {
      const id = params.sourceID;
      return show(found(await sources.get(db, project.id, id), 'source', id), request);
    },
  });
  route.put(app, onePath, {
    id: 'updateSource',
    alsoPost: true,
    summary: 'Update a source. Fields that are not named keep their value.',
    body: UpdateSource,
    status: 202,
    message: 'Source updated',
    data: Source,
    dryRun: true,
    access: 'developer',
    handle: async ({ by, params, body: given }, request) => {
      const body = withoutMaskedCode(given);
      await checkFunctions(context, by.projectId, body);
      const one = { ...by, id: params.sourceID };
      return show(
        await updateSource(changes, one, (known) => {
          const made = changedSource(known, body, context.now());
          if (body.pub_sub !== undefined) checkSource(context, made);
          return made;
        }),
        request,
      );
    },
  });
  route.delete(app, onePath, {
    id: 'deleteSource',
    summary: 'Delete a source and its subscriptions.',
    message: 'Source deleted',
    data: Nothing,
    access: 'developer',
    handle: ({ by, params }) => deleteSource(changes, { ...by, id: params.sourceID }),
  });
}

/** Such a source may be wanted, or older than the setting. */
function warnOfUnsigned(row: SourceRow, request: FastifyRequest): void {
  const { verifier } = row.secret.reveal();
  if (!row.cloudevents || !row.unsigned_cloudevents || !verifiesBySignature({ ...row, verifier })) return;
  const warning =
    'unsigned_cloudevents: the signature covers the body alone, so the holder of one signed request can make it an event of any type; set it to false if the sender has no CloudEvents in headers';
  request.warnings = [...(request.warnings ?? []), warning];
}

const checkSource = ({ workload }: ApiContext, { secret }: SourceContent): void =>
  checkWorkload(secret.reveal().pub_sub, { path: 'pub_sub', allowed: workload });

async function checkFunctions(
  context: ApiContext,
  projectId: string,
  body: Static<typeof UpdateSource>,
): Promise<void> {
  for (const field of ['body_function', 'header_function'] as const)
    await checkFunction(context, field, { projectId, code: body[field] ?? '' });
}
