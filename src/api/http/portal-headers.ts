/**
 * The headers whose values portals see: those that a customer needs to find out what their server got and answered. All
 * others are masked, because an unknown header may hold a credential of the project. Values of these that
 * are credentials are never stored (domain/config/credential-headers.ts).
 */
const SHOWN: ReadonlySet<string> = new Set([
  // of our requests
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'x-convoy-event-id',
  'x-convoy-eventdelivery-id',
  'user-agent',
  'traceparent',
  'accept',
  'accept-encoding',
  // of messages, and of what a broker says of them
  'event-type',
  'partition',
  'offset',
  'message-id',
  'object',
  'etag',
  'sequence-number',
  'version-id',
  // of requests and answers
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'date',
  // of answers
  'server',
  'via',
  'allow',
  'location',
  'retry-after',
  'www-authenticate',
  'cache-control',
  'vary',
  'x-powered-by',
  'x-request-id',
  'x-correlation-id',
  'x-amzn-requestid',
  'x-amz-cf-id',
  'x-cloud-trace-context',
  'x-vercel-id',
  'x-cache',
  'cf-ray',
  'cf-cache-status',
  'fly-request-id',
]);

export const isHarmless = (name: string): boolean => SHOWN.has(name.toLowerCase());
