import type { FastifyInstance } from 'fastify';
import { VERSION } from '../../platform/version.ts';

/** Whether a node may get requests. */
export interface Readiness {
  /** Why it may not. Null: it may. */
  problem: string | null;
  /** The databases that it needs, each with its problem. */
  parts: readonly { name: string; problem: string | null }[];
}

/** Health checks: alive, and ready for work. They need no key and reveal nothing secret. */
export function registerHealth(app: FastifyInstance, readiness: () => Promise<Readiness>): void {
  const hidden = { schema: { hide: true } };
  const alive = async () => ({ status: true, message: `Posthorn ${VERSION} is alive`, data: null });
  app.get('/healthz', hidden, alive);
  app.get('/health', hidden, alive);
  app.get('/readyz', hidden, async (request, reply) => {
    const { problem, parts: known } = await readiness();
    const isVerbose = 'verbose' in (request.query as object);
    // Reasons name servers and accounts, and this page needs no key. The log has them.
    const parts = known.map(({ name, problem: why }) => ({ name, is_ready: why === null }));
    if (problem === null) return { status: true, message: 'Ready', data: isVerbose ? parts : null };
    const refusal = { status: false, message: `Not ready: ${problem}`, code: 'not_ready' };
    return reply.code(503).send(isVerbose ? { ...refusal, data: parts } : refusal);
  });
}
