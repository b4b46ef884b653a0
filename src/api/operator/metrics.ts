import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../metrics/metrics.ts';

type Families = Metrics['httpRequests'];

/** The first matching prefix of a route gives its family. */
const FAMILIES: readonly (readonly [prefix: string, family: keyof Families])[] = [
  ['/api/', 'api'],
  ['/portal-api/', 'portal'],
  ['/ingest/', 'ingest'],
  ['/docs', 'docs'],
  ['/openapi.json', 'docs'],
  ['/health', 'health'],
  ['/readyz', 'health'],
  ['/metrics', 'metrics'],
];

/** Counts every response of the routes that are registered after this. */
export function countRequests(app: FastifyInstance, { httpRequests }: Metrics): void {
  const familyOfRoute = new Map<string | undefined, Families[keyof Families]>();
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url;
    let family = familyOfRoute.get(route);
    if (family === undefined) {
      const known = FAMILIES.find(([prefix]) => route?.startsWith(prefix) === true);
      family = httpRequests[known?.[1] ?? 'other'];
      familyOfRoute.set(route, family);
    }
    family[statusClass(reply.statusCode)].inc();
    done();
  });
}

function statusClass(status: number): '2xx' | '3xx' | '4xx' | '5xx' {
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}

/** The metrics page. It needs no key, because it names no project, endpoint or caller. */
export function registerMetrics(
  app: FastifyInstance,
  page: { contentType: string; render(): Promise<string> },
): void {
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type(page.contentType)
      .serializer(String)
      .send(await page.render()),
  );
}
