/**
 * Headers of every answer that sets none of its own. Answers carry bytes of senders, tenants and endpoints, on the origin
 * of the dashboard. So no browser runs one as a page or as a script, or gives it to a page of another origin.
 */
export const ANSWER_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;
