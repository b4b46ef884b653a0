import { fastify } from 'fastify';
import { verifyWebhook, WebhookError } from 'posthorn-client';

/** The parser gives the bytes that were signed. */
export function webhookApp(secrets, handle) {
  const app = fastify({ bodyLimit: 10 * 2 ** 20 });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.post('/webhooks', async (request, reply) => {
    try {
      const { headers, body = '' } = request;
      await handle(await verifyWebhook({ headers, body }, secrets));
      return reply.code(204).send();
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return reply.code(401).send();
    }
  });
  return app;
}
