import type { FastifyInstance } from 'fastify';
import type { DescribedRoute } from './openapi.ts';

/**
 * Gives a server that has no routes yet its OpenAPI document. Most nodes are never asked for it, so it is made, and its
 * library loaded, when it is first asked for.
 */
export function describeRoutes(app: FastifyInstance): void {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema = {}, config = {} }) => {
    if (method !== 'HEAD') routes.push({ method, url, schema, config });
  });
  let made: Promise<object> | undefined;
  app.decorate('openApi', () => (made ??= makeDocument(routes)));
}

async function makeDocument(routes: readonly DescribedRoute[]): Promise<object> {
  const openApi = await import('./openapi.ts');
  return openApi.makeDocument(routes);
}

declare module 'fastify' {
  interface FastifyInstance {
    openApi(): Promise<object>;
  }
}
