import type { Authenticator } from '../src/api/http/auth.ts';
import type { ApiContext } from '../src/api/http/context.ts';
import { registerRoutes } from '../src/api/routes.ts';
import { createServer } from '../src/api/server.ts';
import { IdFactory } from '../src/domain/ids.ts';
import { createMetrics } from '../src/metrics/metrics.ts';
import { createLogger } from '../src/platform/logger.ts';

/** The OpenAPI document of the real routes. No handler runs, so their dependencies are absent. */
export async function makeOpenApi(): Promise<string> {
  const server = await createServer({
    ids: new IdFactory(Date.now),
    log: createLogger('silent'),
    maxBodyBytes: 1,
    trustedProxies: [],
  });
  await registerRoutes(server, {
    roles: ['api', 'ingest'],
    context: absent('context') as ApiContext,
    authenticator: absent('authenticator') as Authenticator,
    isReady: async () => null,
    metrics: createMetrics().metrics,
    tracer: null,
    metricsPage: null,
  });
  await server.ready();
  const document = JSON.stringify(server.swagger(), null, 1);
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
