import express from 'express';
import { verifyWebhook, WebhookError } from 'posthorn-client';

/** `express.raw` gives the bytes that were signed: no `express.json()` before this route. */
export function webhookApp(secrets, handle) {
  const app = express();
  app.post('/webhooks', express.raw({ type: '*/*', limit: '10mb' }), async (request, response) => {
    try {
      const { headers, body = '' } = request;
      await handle(await verifyWebhook({ headers, body }, secrets));
      response.sendStatus(204);
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      response.sendStatus(401);
    }
  });
  return app;
}
