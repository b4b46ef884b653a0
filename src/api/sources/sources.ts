import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import {
  createSource,
  deleteSource,
  type SourceContent,
  updateSource,
} from '../../control/source-changes.ts';
import { sourceTypes } from '../../domain/config/source.ts';
import { found, wrongState } from '../../domain/errors.ts';
import { asId } from '../../domain/ids.ts';
import { queryValue, queryWords } from '../../domain/pagination.ts';
import { verifiesBySignature } from '../../ingest/verify/compile-verifier.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import { checkWorkload } from '../brokers/read-broker.ts';
import { CallRate } from '../http/access/call-rate.ts';
import { checkFunction, withoutMaskedCode } from '../http/check-settings.ts';
import type { ApiContext, ReadContext, SendContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { operationsOf } from '../http/operation.ts';
import { changedSource, newSource } from './source-input.ts';
import { CreateSource, Source, toSource, UpdateSource } from './source-schema.ts';
import { isBroker, sourceStatuses } from './source-status.ts';

export function registerSources(app: FastifyInstance, context: ApiContext): void {
  const { db, sources, changes } = context;
  const source = crud(app, db, {
    tag: 'Sources',
    noun: 'source',
    path: '/api/v1/projects/:projectID/sources',
    param: 'sourceID',
    data: Source,
    access: { read: 'viewer', change: 'developer' },
    dryRun: true,
    get: ({ project }, id) => sources.get(db, project.id, asId(id)),
    view: async ({ project }, rows) => {
      const statuses = await sourceStatuses(db, project.id, rows);
      return (row) => toSource(row, context.publicUrl(), statuses.get(row.id) ?? null);
    },
    warningsOf: unsignedWarning,
  });
  source.create({
    body: CreateSource,
    make: async ({ by, body }) => {
      const made = newSource(body, context.now());
      checkSource(context, made);
      await checkFunctions(context, by.projectId, body);
      return createSource(changes, by, made);
    },
  });
  source.pages({
    query: {
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      type: Type.Optional(oneOf(sourceTypes)),
      provider: Type.Optional(Type.String()),
    },
    filter: ({ query }) => ({
      name: queryValue(query, 'q'),
      type: queryWords(query, 'type', sourceTypes).at(-1),
      provider: queryValue(query, 'provider'),
    }),
    read: (tx, projectId, list) => sources.list(tx, projectId, list),
  });
  source.get();
  source.update({
    alsoPost: true,
    body: UpdateSource,
    make: async ({ by, params, body: given }) => {
      const body = withoutMaskedCode(given);
      await checkFunctions(context, by.projectId, body);
      return updateSource(changes, { ...by, id: params.sourceID }, (known) => {
        const made = changedSource(known, body, context.now());
        if (body.pub_sub !== undefined) checkSource(context, made);
        return made;
      });
    },
  });
  source.remove({
    summary: 'Delete a source and its subscriptions.',
    make: ({ by, params }) => deleteSource(changes, { ...by, id: params.sourceID }),
  });
}

/** Such a source may be wanted, or older than the setting. */
function unsignedWarning(row: SourceRow): string[] {
  const { verifier } = row.secret.reveal();
  if (!row.cloudevents || !row.unsigned_cloudevents || !verifiesBySignature({ ...row, verifier })) return [];
  return [
    'unsigned_cloudevents: the signature covers the body alone, so the holder of one signed request can make it an event of any type; set it to false if the sender has no CloudEvents in headers',
  ];
}

const checkSource = ({ workload }: ReadContext, { secret }: SourceContent): void =>
  checkWorkload(secret.reveal().pub_sub, { path: 'pub_sub', allowed: workload });

async function checkFunctions(
  context: SendContext,
  projectId: string,
  body: Static<typeof UpdateSource>,
): Promise<void> {
  for (const field of ['body_function', 'header_function'] as const)
    await checkFunction(context, field, { projectId, code: body[field] ?? '' });
}

/** Each opens connections to an address of the caller's choice, so a project may not ask for many. */
const MAX_PER_MINUTE = 10;

export function registerTestConnection(app: FastifyInstance, context: SendContext): void {
  const limit = new CallRate(MAX_PER_MINUTE, 60);
  operationsOf('Sources').post(app, '/api/v1/projects/:projectID/sources/:sourceID/test_connection', {
    id: 'testSourceConnection',
    summary: 'Connect to the broker of a source, without taking messages.',
    message: 'Connection tried',
    data: Type.Object({
      ok: Type.Boolean(),
      reason: Type.String({ description: 'Why it is not; empty where it is.' }),
    }),
    access: 'developer',
    handle: async ({ project, params }) => {
      const id = params.sourceID;
      const source = found(await context.sources.get(context.db, project.id, id), 'source', id);
      if (!isBroker(source)) throw wrongState('The source has no broker: its type is not pub_sub.');
      limit.count(project.id);
      const reason = await context.testSource(source);
      return { ok: reason === null, reason: reason ?? '' };
    },
  });
}
