import type { FastifyInstance } from 'fastify';
import type { DatabaseFault } from '../../domain/errors.ts';
import { VERSION } from '../../platform/version.ts';
import type { Database } from '../../store/database/database.ts';

/** Whether a node may get requests. */
export interface Readiness {
  /** Why it may not. Null: it may. */
  problem: string | null;
  /** The databases that it needs. */
  parts: readonly DatabasePart[];
}

/** A database as `/readyz?verbose` shows it: in code words, because reasons name servers and accounts. The log has them. */
export interface DatabasePart {
  name: string;
  is_ready: boolean;
  /** `unusable`: it answers, and is not the one that is meant or not as it should be. */
  reason?: DatabaseFault | 'starting' | 'unusable';
}

/** One that takes no writes can be read. */
export async function databasePart(
  name: string,
  db: Pick<Database, 'trouble' | 'writeFault'>,
): Promise<DatabasePart> {
  const trouble = await db.trouble();
  if (trouble !== null) return { name, is_ready: false, reason: trouble.fault };
  const fault = await db.writeFault();
  return { name, is_ready: true, ...(fault && { reason: fault }) };
}

/** For `Readiness.problem`. */
export const partProblem = ({ name, is_ready, reason }: DatabasePart): string | null =>
  is_ready ? null : `${name} ${reason}`;

/** Health checks: alive, and ready for work. They need no key and reveal nothing secret. */
export function registerHealth(app: FastifyInstance, readiness: () => Promise<Readiness>): void {
  const hidden = { schema: { hide: true } };
  const alive = async () => ({ status: true, message: `Posthorn ${VERSION} is alive`, data: null });
  app.get('/healthz', hidden, alive);
  app.get('/health', hidden, alive);
  app.get('/readyz', hidden, async (request, reply) => {
    const { problem, parts } = await readiness();
    const isVerbose = 'verbose' in (request.query as object);
    if (problem === null) return { status: true, message: 'Ready', data: isVerbose ? parts : null };
    const refusal = { status: false, message: `Not ready: ${problem}`, code: 'not_ready' };
    return reply.code(503).send(isVerbose ? { ...refusal, data: parts } : refusal);
  });
}
