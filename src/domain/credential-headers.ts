/**
 * Headers, in lower case, that say who a sender is. Whoever reads one can send as that sender does, so their values
 * are sealed where they must be kept, left out where they need not, and never shown.
 */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api-key',
  'apikey',
  'x-auth-token',
  'x-access-token',
  'x-gitlab-token',
]);

/** What is shown of such a value. */
export const HIDDEN = '***';
