import type { FastifyInstance } from 'fastify';
import { found, wrongState } from '../../domain/errors.ts';
import { Type } from '../../platform/type.ts';
import { CallRate } from '../http/access/call-rate.ts';
import type { ApiContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { isBroker } from './source-status.ts';

/** Each opens connections to an address of the caller's choice, so a project may not ask for many. */
const MAX_PER_MINUTE = 10;

export function registerTestConnection(app: FastifyInstance, context: ApiContext): void {
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
