import type { FastifyInstance } from 'fastify';
import { VERSION } from '../../platform/version.ts';

/** Health checks: alive, and ready for work. They need no key and reveal nothing secret. */
export function registerHealth(app: FastifyInstance, isReady: () => Promise<string | null>): void {
  const hidden = { schema: { hide: true } };
  const alive = async () => ({ status: true, message: `Posthorn ${VERSION} is alive`, data: null });
  app.get('/healthz', hidden, alive);
  app.get('/health', hidden, alive);
  app.get('/readyz', hidden, async (_request, reply) => {
    const problem = await isReady();
    if (problem === null) return { status: true, message: 'Ready', data: null };
    return reply.code(503).send({ status: false, message: `Not ready: ${problem}`, code: 'not_ready' });
  });
}
