import { verifyWebhook, WebhookError } from 'posthorn-client';

/** A handler of Bun, Deno, Next.js routes and edge runtimes: a `Request` in, a `Response` out. */
export function webhookHandler(secrets, handle) {
  return async (request) => {
    try {
      await handle(await verifyWebhook(request, secrets));
      return new Response(null, { status: 204 });
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      return new Response(null, { status: 401 });
    }
  };
}
