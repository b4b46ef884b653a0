import type { OAuth2Config } from '../../domain/config/endpoint-authentication.ts';
import { clientAssertion } from './client-assertion.ts';
import type { HttpClient, OutgoingRequest } from './http-client.ts';

/**
 * Requests an access token from a token server (OAuth 2 client credentials). Its responses are never quoted,
 * because they contain secrets.
 */

export type TokenResult =
  | { kind: 'token'; authorization: string; lifetimeMs: number }
  | {
      kind: 'failed';
      message: string;
      /** The fault is ours (resolver, proxy), so it uses no retry. */
      ours: boolean;
      /** The settings are wrong, so a retry changes nothing. */
      permanent: boolean;
    };

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 65_536;
const DEFAULT_LIFETIME_MS = 3_600_000;
/** A hundred years. The API cannot show a time after a longer life. */
const MAX_LIFETIME_MS = 100 * 365 * 86_400_000;
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const UNIT_MS = { seconds: 1_000, milliseconds: 1, minutes: 60_000, hours: 3_600_000 };

export async function fetchToken(http: HttpClient, config: OAuth2Config): Promise<TokenResult> {
  const form = await tokenForm(config);
  if (typeof form === 'string') return { kind: 'failed', message: form, ours: false, permanent: true };
  const request: OutgoingRequest = {
    url: config.url,
    headers: [
      ['Content-Type', 'application/x-www-form-urlencoded'],
      ['Accept', 'application/json'],
    ],
    body: Buffer.from(form.toString()),
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  };
  const first = await http.send(request);
  // A second token request does no harm. Without it the delivery would wait for its next attempt.
  const outcome = first.kind === 'error' && first.dropped ? await http.send(request) : first;
  const failed = (text: string, ours = false): TokenResult => ({
    kind: 'failed',
    message: `no access token: ${text}`,
    ours,
    permanent: false,
  });
  if (outcome.kind === 'error') return failed(outcome.message, outcome.ours);
  if (outcome.status !== 200)
    return failed(`the token server answered ${outcome.status}${errorCode(outcome.body, config)}`);
  if (outcome.truncated) return failed('the answer of the token server is too long');
  return tokenFrom(outcome.body, config) ?? failed('the token server answered without a usable token');
}

/** The form to send, or the reason why the settings do not suffice. */
async function tokenForm(config: OAuth2Config): Promise<URLSearchParams | string> {
  const form = new URLSearchParams({
    grant_type: config.grant_type || 'client_credentials',
    client_id: config.client_id,
  });
  if (config.scope) form.set('scope', config.scope);
  if (config.audience) form.set('audience', config.audience);
  if (config.authentication_type === 'shared_secret') {
    if (!config.client_secret) return 'OAuth 2 settings lack the client secret';
    form.set('client_secret', config.client_secret);
    return form;
  }
  if (config.signing_key === undefined) return 'OAuth 2 settings lack the signing key';
  const assertion = await clientAssertion(config.signing_key, config.signing_algorithm ?? 'ES256', {
    issuer: config.issuer || config.client_id,
    subject: config.subject || config.client_id,
    audience: config.url,
  });
  if (assertion.kind === 'invalid_key') return `OAuth 2 settings: ${assertion.message}`;
  form.set('client_assertion_type', ASSERTION_TYPE);
  form.set('client_assertion', assertion.jwt);
  return form;
}

function tokenFrom(body: Buffer, config: OAuth2Config): TokenResult | null {
  const fields = jsonObject(body);
  const names = config.field_mapping ?? {};
  const token = fields[names.access_token || 'access_token'];
  const type = fields[names.token_type || 'token_type'] ?? 'Bearer';
  // Both become a header, so only visible characters.
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return null;
  if (typeof type !== 'string' || !/^[\w-]*$/.test(type)) return null;
  const scheme = type === '' || type.toLowerCase() === 'bearer' ? 'Bearer' : type;
  const expiry = fields[names.expires_in || 'expires_in'];
  const amount = expiry === undefined || expiry === null || expiry === '' ? Number.NaN : Number(expiry);
  const lifetimeMs = Number.isFinite(amount)
    ? Math.min(MAX_LIFETIME_MS, Math.max(0, amount * UNIT_MS[config.expiry_time_unit ?? 'seconds']))
    : DEFAULT_LIFETIME_MS;
  return { kind: 'token', authorization: `${scheme} ${token}`, lifetimeMs };
}

/** The error code of RFC 6749, section 5.2, if there is one. */
function errorCode(body: Buffer, { client_secret = '' }: OAuth2Config): string {
  const code = jsonObject(body)['error'];
  const isWord = typeof code === 'string' && /^\w{1,40}$/.test(code);
  // If a server echoes the secret, it must not be stored as the reason.
  return isWord && !client_secret.includes(code) ? ` (${code})` : '';
}

function jsonObject(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
