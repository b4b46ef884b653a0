import type { Json } from '../support/client.ts';
import { CHARACTERS, type Character, profileOf } from './characters.ts';
import type { ReceiverProcess } from './receiver/receiver-process.ts';

/** The API of the service, without a test around it. */
const RETRY = { type: 'linear', duration: '1s', retry_count: 1000 };
/** The timeout of an endpoint. Pauses are shorter and longer than this. */
const HTTP_TIMEOUT_SECONDS = 3;

export class Service {
  readonly #base: string;
  readonly key: string;
  readonly path: string;

  constructor(url: string, { projectId, key }: { projectId: string; key: string }) {
    this.path = `/api/v1/projects/${projectId}`;
    this.#base = `${url}${this.path}`;
    this.key = key;
  }

  /** One endpoint of each character. Returns their ids. */
  async subscribe(receiver: ReceiverProcess): Promise<Map<Character, string>> {
    await this.#call('PUT', '', {
      name: 'chaos',
      config: { circuit_breaker: { sample_rate: 2, error_timeout: 3 } },
    });
    const endpoints = new Map<Character, string>();
    for (const name of CHARACTERS) {
      const { limit, takesAll, isOnce, orderingKey, batch } = profileOf(name);
      const endpoint = await this.#call('POST', '/endpoints', {
        name,
        url: receiver.urlOf(name),
        http_timeout: HTTP_TIMEOUT_SECONDS,
        ...(limit?.of === 'endpoint' && { rate_limit: limit.count, rate_limit_duration: limit.seconds }),
        ...(name === 'authorised' && { authentication: oauth2(receiver.tokenUrl) }),
      });
      endpoints.set(name, endpoint.uid);
      await this.#call('POST', '/subscriptions', {
        name,
        endpoint_id: endpoint.uid,
        filter_config: { event_types: takesAll ? [name, 'all'] : [name] },
        retry_config: RETRY,
        ...(limit?.of === 'subscription' && {
          rate_limit_config: { count: limit.count, duration: limit.seconds },
        }),
        ...(isOnce && { delivery_mode: 'at_most_once' }),
        ...(batch && { batch }),
        ...(orderingKey !== undefined && { ordering: { key: orderingKey, on_failure: 'hold' } }),
      });
    }
    return endpoints;
  }

  async #call(method: string, path: string, body: object): Promise<Json> {
    const response = await fetch(`${this.#base}${path}`, {
      method,
      headers: { authorization: this.key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Json;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.message}`);
    return answer.data;
  }
}

const oauth2 = (url: string) => ({
  type: 'oauth2',
  oauth2: { url, client_id: 'chaos', client_secret: 'secret', authentication_type: 'shared_secret' },
});
