import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../../domain/errors.ts';

/** The one expectation that Node meets, as Node recognises it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * Refuses requests that a proxy may read in another way: without Host, or with two. Node refuses an unknown
 * `Expect` itself, without the envelope and an id, unless it is handed on.
 */
export function refuseAmbiguous(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const problem = ambiguityOf(raw);
    if (problem !== undefined) reply.header('connection', 'close');
    done(problem);
  });
}

function ambiguityOf({ headers, rawHeaders, httpVersion }: IncomingMessage): AppError | undefined {
  const { expect: expectation } = headers;
  if (expectation !== undefined && !CONTINUE.test(expectation))
    return new AppError('expectation_failed', { expectation });
  const hosts = hostCount(rawHeaders);
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined;
  return new AppError('bad_request', { detail: `it has ${hosts} Host headers instead of one` });
}

/** Node shows only the first of two Host headers among its parsed headers. */
function hostCount(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
