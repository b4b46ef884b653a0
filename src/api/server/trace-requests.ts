import type { FastifyInstance } from 'fastify';
import { incomingTrace } from '../../ingest/request/request-trace.ts';
import type { Tracer } from '../../tracing/tracer.ts';

const TRACED = ['/api/', '/portal-api/', '/ingest/'];

/** Records a span for every request of the API, of portals and of senders; without a tracer there is no hook. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url ?? '';
    const span = TRACED.some((prefix) => route.startsWith(prefix))
      ? tracer.begin(incomingTrace(request))
      : null;
    if (span !== null) request.span = span;
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { span } = request;
    if (span !== undefined) {
      const { url = '' } = request.routeOptions;
      const { source } = request;
      const projectId = source?.row.project_id ?? request.project?.id;
      tracer.end(span, {
        name: `${request.method} ${url}`,
        kind: 'server',
        attributes: {
          'http.request.method': request.method,
          'http.route': url,
          'http.response.status_code': reply.statusCode,
          'posthorn.request.id': request.id,
          ...(projectId !== undefined && { 'posthorn.project.id': projectId }),
          ...(source !== undefined && { 'posthorn.source.id': source.row.id }),
        },
        // By the OpenTelemetry conventions a caller's mistake is not a server error.
        error: reply.statusCode >= 500 ? `answered ${reply.statusCode}` : null,
      });
    }
    done();
  });
}
