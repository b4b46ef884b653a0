import { hash } from 'node:crypto';
import type { EndpointAuthentication, OAuth2Config } from '../../domain/config/endpoint-authentication.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { HttpClient } from './http-client.ts';
import { fetchToken, type TokenResult } from './oauth2-token.ts';

/**
 * The headers that authenticate us to an endpoint. OAuth 2 tokens are cached per endpoint and hash of the
 * settings, so a change takes effect at once. They are cached for an hour at most and replaced early: a tenth
 * of their life before expiry, at most a minute. There is one request to the token server at a time per
 * endpoint. Its failure is cached for a second, so that waiting deliveries do not each repeat it. At most
 * 10,000 endpoints are cached.
 */

export type AuthResult =
  | { kind: 'headers'; headers: readonly (readonly [string, string])[] }
  | Extract<TokenResult, { kind: 'failed' }>;

interface Kept {
  readonly settings: string;
  readonly pending: Promise<TokenResult>;
  fetchedAt: number;
  /** Infinite while the request runs. */
  freshUntil: number;
}

const MAX_LIFETIME_MS = 3_600_000;
const MAX_EARLY_MS = 60_000;
const FAILURE_HOLDS_MS = 1_000;
const MIN_AGE_MS = 1_000;
const MAX_ENDPOINTS = 10_000;

export class EndpointAuth {
  readonly #http: HttpClient;
  readonly #kept = new BoundedMap<string, Kept>(MAX_ENDPOINTS);

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async headers(endpointId: string, authentication: EndpointAuthentication): Promise<AuthResult> {
    switch (authentication.type) {
      case 'api_key': {
        const { header_name, header_value } = authentication.api_key;
        return { kind: 'headers', headers: [[header_name, header_value]] };
      }
      case 'basic_auth': {
        const { username, password } = authentication.basic_auth;
        const credentials = Buffer.from(`${username}:${password}`).toString('base64');
        return { kind: 'headers', headers: [['Authorization', `Basic ${credentials}`]] };
      }
      case 'oauth2':
        break;
    }
    const result = await this.#token(endpointId, authentication.oauth2);
    if (result.kind === 'failed') return result;
    return { kind: 'headers', headers: [['Authorization', result.authorization]] };
  }

  /**
   * The endpoint answered 401, so its token is requested again. A token younger than a second is kept: that
   * 401 was for its predecessor.
   */
  invalidate(endpointId: string): void {
    const kept = this.#kept.get(endpointId);
    if (kept !== undefined && performance.now() - kept.fetchedAt >= MIN_AGE_MS) this.#kept.delete(endpointId);
  }

  #token(endpointId: string, config: OAuth2Config): Promise<TokenResult> {
    const settings = hash('sha256', JSON.stringify(config));
    const known = this.#kept.get(endpointId);
    if (known?.settings === settings && known.freshUntil > performance.now()) return known.pending;
    const pending = fetchToken(this.#http, config);
    const kept: Kept = {
      settings,
      pending,
      fetchedAt: Number.POSITIVE_INFINITY,
      freshUntil: Number.POSITIVE_INFINITY,
    };
    this.#kept.set(endpointId, kept);
    return this.#settle(kept);
  }

  async #settle(kept: Kept): Promise<TokenResult> {
    const result = await kept.pending;
    const now = performance.now();
    kept.fetchedAt = now;
    if (result.kind === 'failed') {
      kept.freshUntil = now + FAILURE_HOLDS_MS;
    } else {
      const lifetimeMs = Math.min(result.lifetimeMs, MAX_LIFETIME_MS);
      kept.freshUntil = now + lifetimeMs - Math.min(lifetimeMs * 0.1, MAX_EARLY_MS);
    }
    return result;
  }
}
