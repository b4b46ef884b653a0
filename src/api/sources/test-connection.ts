import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { AppError, found } from '../../domain/errors.ts';
import type { ApiContext } from '../http/context.ts';
import { registerOperation } from '../http/operation.ts';
import { isBroker } from './source-status.ts';

/** Each opens connections to an address of the caller's choice, so a project may not ask for many. */
const MAX_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

export function registerTestConnection(app: FastifyInstance, context: ApiContext): void {
  const limit = new TestLimit();
  registerOperation(app, {
    method: 'POST',
    path: '/api/v1/projects/:projectID/sources/:sourceID/test_connection',
    id: 'testSourceConnection',
    tag: 'Sources',
    summary: 'Connect to the broker of a source, without taking messages.',
    status: 200,
    message: 'Connection tried',
    data: Type.Object({
      ok: Type.Boolean(),
      reason: Type.String({ description: 'Why it is not; empty where it is.' }),
    }),
    handle: async ({ project, params }) => {
      const id = params.sourceID;
      const source = found(await context.sources.get(context.db, project.id, id), 'source', id);
      if (!isBroker(source))
        throw new AppError('wrong_state', { detail: 'The source has no broker: its type is not pub_sub.' });
      limit.count(project.id);
      const reason = await context.testSource(source);
      return { ok: reason === null, reason: reason ?? '' };
    },
  });
}

/** Tests of each project in the present minute, on this node. */
class TestLimit {
  readonly #tests = new Map<string, number>();
  #endsAt = 0;

  count(projectId: string): void {
    const now = performance.now();
    if (now >= this.#endsAt) {
      this.#tests.clear();
      this.#endsAt = now + MINUTE_MS;
    }
    const tests = (this.#tests.get(projectId) ?? 0) + 1;
    const retry = Math.ceil((this.#endsAt - now) / 1000);
    if (tests > MAX_PER_MINUTE)
      throw new AppError('rate_limited', { limit: MAX_PER_MINUTE, duration: 60, retry });
    this.#tests.set(projectId, tests);
  }
}
