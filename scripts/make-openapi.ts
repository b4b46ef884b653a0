import type { Authenticator } from '../src/api/http/access/auth.ts';
import type { ApiContext } from '../src/api/http/context.ts';
import { registerRoutes } from '../src/api/routes.ts';
import { BodyRoom } from '../src/api/server/body-room.ts';
import { createServer } from '../src/api/server.ts';
import { IdFactory } from '../src/domain/ids.ts';
import { createMetrics } from '../src/metrics/metrics.ts';
import { createLogger } from '../src/platform/logger.ts';

/** A change shows as a few lines, and the file stays small: 520 kB indented throughout, 300 kB so. */
const LEVELS = 5;

/** The OpenAPI document of the real routes. No handler runs, so their dependencies are absent. */
export async function makeOpenApi(): Promise<string> {
  const server = await createServer({
    ids: new IdFactory(Date.now),
    log: createLogger('silent'),
    maxBodyBytes: 1,
    bodies: new BodyRoom(1),
    jsonBounds: { depth: 100, names: 100_000 },
    trustedProxies: [],
  });
  await registerRoutes(server, {
    roles: ['api', 'ingest'],
    context: absent('context') as ApiContext,
    authenticator: absent('authenticator') as Authenticator,
    pages: () => null,
    readiness: async () => ({ problem: null, parts: [] }),
    metrics: createMetrics().metrics,
    tracer: null,
    more: [],
    metricsPage: null,
  });
  await server.ready();
  const document = indented(await server.openApi(), LEVELS);
  await server.close();
  return `${document}\n`;
}

/** Every property exists, but none can be called. */
function absent(name: string): unknown {
  const refuse = () => {
    throw new Error(`${name} was called while only the document is made`);
  };
  return new Proxy(refuse, { get: (_target, key) => absent(`${name}.${String(key)}`) });
}

/** JSON with its outer levels indented, and one line for each value inside them. */
function indented(value: unknown, levels: number, indent = '\n'): string {
  if (levels === 0 || typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value);
  const inner = `${indent} `;
  const lines = Object.entries(value).map(
    ([name, child]) => `${inner}${JSON.stringify(name)}: ${indented(child, levels - 1, inner)}`,
  );
  return `{${lines.join(',')}${indent}}`;
}
