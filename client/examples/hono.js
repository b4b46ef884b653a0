import { Hono } from 'hono';
import { verifyWebhook, WebhookError } from 'posthorn-client';

/** `context.req.raw` is a fetch `Request`. */
export function webhookApp(secrets, handle) {
  const app = new Hono();
  app.post('/webhooks', async (context) => {
    try {
      await handle(await verifyWebhook(context.req.raw, secrets));
      return context.body(null, 204);
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return context.body(null, 401);
    }
  });
  return app;
}
