import { expect } from 'vitest';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import {
  boolean,
  type Check,
  fields,
  id,
  integer,
  listOf,
  nothing,
  nullable,
  object,
  text,
  time,
} from '../support/shape.ts';
import {
  deliveryAttempt,
  endpoint,
  event,
  eventDelivery,
  filter,
  listedEvent,
  metaEvent,
  pageOf,
  portalLink,
  source,
  subscription,
} from './resources.ts';

/**
 * Every call that Convoy's client libraries have, in an order in which each finds what it needs. How a call is put on
 * the wire is the library's own way; the success code and the shape are what all of them expect.
 */
export interface Ask {
  body?: unknown;
  query?: Record<string, string | string[]>;
}
export type Send = (method: string, path: string, ask?: Ask) => Promise<{ status: number; answer: Json }>;

/** Lists go as repeated keys. */
export function withQuery(path: string, query: Ask['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  );
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs).toString()}`;
}

const anything: Check = () => [];
const eventType = fields({
  uid: id,
  name: text,
  category: text,
  description: text,
  json_schema: nullable(object),
  deprecated_at: nullable(time),
});
const project = fields({
  uid: id,
  name: text,
  type: text,
  logo_url: text,
  organisation_id: text,
  config: object,
  created_at: time,
  updated_at: time,
});

export class Journey {
  readonly #send: Send;
  readonly #hook: string;

  constructor(send: Send, hook: string) {
    this.#send = send;
    this.#hook = hook;
  }

  async call(line: string, check: Check, ask: Ask = {}): Promise<Json> {
    const [expected, method = '', path = ''] = line.split(' ');
    const { status, answer } = await this.#send(method, path, ask);
    expect(`${status} ${method} ${path} ${String(status) === expected ? '' : JSON.stringify(answer)}`).toBe(
      `${expected} ${method} ${path} `,
    );
    expect([answer.status, typeof answer.message, 'data' in answer]).toEqual([true, 'string', true]);
    expect(check(answer.data, path)).toEqual([]);
    return answer.data;
  }

  /** A page that has something. */
  async page(path: string, item: Check, query: Ask['query'] = {}): Promise<Json> {
    const { content } = await this.call(`200 GET ${path}`, pageOf(item), { query });
    expect([path, content]).not.toEqual([path, []]);
    return content;
  }

  async run(): Promise<void> {
    await this.projects();
    const { uid } = await this.endpoints();
    const sub = await this.subscriptions(uid);
    await this.sources(uid);
    await this.filters(sub.uid);
    const sent = await this.events(uid);
    await this.deliveries(sent.uid);
    await this.metaEvents();
    await this.portalLinks(uid);
    await this.call(`200 DELETE /subscriptions/${sub.uid}`, anything);
    await this.call(`200 DELETE /endpoints/${uid}`, anything);
  }

  async projects(): Promise<void> {
    await this.call('200 GET ', project);
    const config = {
      meta_event: { is_enabled: true, type: 'http', event_type: ['*'], url: this.#hook, secret: 's' },
    };
    await this.call('202 PUT ', project, { body: { name: 'default', config } });
  }

  async endpoints(): Promise<Json> {
    const body = { name: 'endpoint', url: this.#hook, owner_id: 'owner', secret: 'secret', http_timeout: 10 };
    const made = await this.call('201 POST /endpoints', endpoint, { body });
    await this.page('/endpoints', endpoint, { ownerId: 'owner', perPage: '5' });
    await this.call(`200 GET /endpoints/${made.uid}`, endpoint);
    await this.call(`202 PUT /endpoints/${made.uid}`, endpoint, { body });
    await this.call(`202 PUT /endpoints/${made.uid}/pause`, endpoint);
    await this.call(`202 PUT /endpoints/${made.uid}/pause`, endpoint);
    const roll = { expiration: 60, secret: 'next' };
    const rolled = await this.call(`200 PUT /endpoints/${made.uid}/expire_secret`, endpoint, { body: roll });
    expect(rolled.secrets.length).toBe(2);
    return made;
  }

  async subscriptions(endpointId: string): Promise<Json> {
    const body = {
      name: 'subscription',
      endpoint_id: endpointId,
      source_id: '',
      alert_config: null,
      filter_config: { event_types: ['invoice.paid'], filter: { body: { amount: 1 }, headers: {} } },
    };
    const made = await this.call('201 POST /subscriptions', subscription, { body });
    const query = { endpointId: [endpointId, 'none'], name: 'sub', perPage: '5' };
    const page = await this.page('/subscriptions', subscription, query);
    expect(page.map((row: Json) => row.uid)).toEqual([made.uid]);
    await this.call(`200 GET /subscriptions/${made.uid}`, subscription);
    await this.call(`202 PUT /subscriptions/${made.uid}`, subscription, { body });
    await this.call(`202 PUT /subscriptions/${made.uid}/toggle_status`, object);
    await this.call(`202 PUT /subscriptions/${made.uid}/toggle_status`, object);
    const trial = { request: { body: { a: 1 }, header: {} }, schema: { body: { a: 1 }, header: {} } };
    await this.call('200 POST /subscriptions/test_filter', boolean, { body: trial });
    const run = { payload: { a: 1 }, function: 'function transform(p) { return p; }', type: 'body' };
    const ran = fields({ payload: anything, log: listOf(text) });
    await this.call('200 POST /subscriptions/test_function', ran, { body: run });
    return made;
  }

  async sources(endpointId: string): Promise<void> {
    const verifier = {
      type: 'api_key',
      api_key: { header_name: 'x-key', header_value: 'v' },
      hmac: null,
      basic_auth: null,
    };
    const body = { name: 'source', type: 'http', provider: '', is_disabled: false, verifier };
    const made = await this.call('201 POST /sources', source, { body });
    await this.page('/sources', source, { type: 'http', perPage: '5' });
    await this.call(`200 GET /sources/${made.uid}`, source);
    await this.call(`202 PUT /sources/${made.uid}`, source, { body });
    const linked = { name: 'linked', endpoint_id: endpointId, source_id: made.uid };
    const sub = await this.call('201 POST /subscriptions', subscription, { body: linked });
    await this.call(`200 DELETE /subscriptions/${sub.uid}`, anything);
    await this.call(`200 DELETE /sources/${made.uid}`, anything);
  }

  async filters(subscriptionId: string): Promise<void> {
    const base = `/subscriptions/${subscriptionId}/filters`;
    const type = await this.call('201 POST /event-types', eventType, {
      body: { name: 'one.more', category: 'c', description: 'd', json_schema: { type: 'object' } },
    });
    await this.call('200 GET /event-types', listOf(eventType));
    await this.call(`201 PUT /event-types/${type.uid}`, eventType, { body: { description: 'new' } });
    const enabled = { set: true, time: '2026-01-01T00:00:00Z' };
    const body = { event_type: 'one.more', enabled_at: enabled, body: { a: 1 }, headers: {} };
    const made = await this.call(`201 POST ${base}`, filter, { body });
    await this.call(`200 GET ${base}`, listOf(filter));
    await this.call(`200 GET ${base}/${made.uid}`, filter);
    await this.call(`200 PUT ${base}/${made.uid}`, filter, { body });
    await this.call(`200 PUT ${base}/bulk_update`, listOf(filter), { body: [{ uid: made.uid, ...body }] });
    const trial = { payload: { a: 1 }, request: { body: { a: 1 }, headers: {} } };
    await this.call(`200 POST ${base}/test/one.more`, fields({ is_match: boolean }), { body: trial });
    await this.call(`200 DELETE ${base}/${made.uid}`, anything);
    await this.call(`201 POST ${base}/bulk`, listOf(filter), { body: [body] });
    await this.call(`201 POST /event-types/${type.uid}/deprecate`, eventType);
  }

  async events(endpointId: string): Promise<Json> {
    const common = { event_type: 'invoice.paid', data: { amount: 1 }, custom_headers: { 'x-kind': 'v' } };
    await this.call('201 POST /events', event, { body: { ...common, endpoint_id: endpointId } });
    await this.call('201 POST /events/fanout', event, { body: { ...common, owner_id: 'owner' } });
    await this.call('201 POST /events/dynamic', event, {
      body: { ...common, url: this.#hook, secret: 's', event_types: ['invoice.paid'] },
    });
    const sent = await this.call('201 POST /events/broadcast', event, {
      body: { ...common, idempotency_key: 'once' },
    });
    await this.call(`200 GET /events/${sent.uid}`, event);
    const query = { endpointId: [endpointId], sort: 'ASC', perPage: '5' };
    await this.page('/events', listedEvent, query);
    await this.call('200 GET /events/countbatchreplayevents', fields({ num: integer }), { query });
    await this.call(`200 PUT /events/${sent.uid}/replay`, event);
    await this.call('200 POST /events/batchreplay', nothing, { query: { endpointId: [endpointId] } });
    return sent;
  }

  async deliveries(eventId: string): Promise<void> {
    const list = () =>
      this.call('200 GET /eventdeliveries', pageOf(eventDelivery), {
        query: { eventId, status: ['Success', 'Failure'], event_type: 'invoice.paid' },
      });
    const { content } = await eventually(list, { content: { length: atLeast(1) } });
    const base = `/eventdeliveries/${content[0].uid}`;
    await this.call(`200 GET ${base}`, eventDelivery);
    const [attempt] = await this.call(`200 GET ${base}/deliveryattempts`, listOf(deliveryAttempt));
    await this.call(`200 GET ${base}/deliveryattempts/${attempt.uid}`, deliveryAttempt);
    await this.call('200 POST /eventdeliveries/forceresend', anything, { body: { ids: [content[0].uid] } });
    await this.call('200 POST /eventdeliveries/batchretry', anything, { query: { status: ['Failure'] } });
  }

  async metaEvents(): Promise<void> {
    const list = () => this.call('200 GET /meta-events', pageOf(metaEvent), { query: { perPage: '3' } });
    const { content } = await eventually(list, (page) =>
      page.content.some((row: Json) => row.attempt !== null),
    );
    await this.call(`200 GET /meta-events/${content[0].uid}`, metaEvent);
    await this.call(`200 PUT /meta-events/${content[0].uid}/resend`, metaEvent);
  }

  async portalLinks(endpointId: string): Promise<void> {
    const body = { name: 'link', owner_id: 'owner', endpoints: [endpointId], can_manage_endpoint: true };
    const made = await this.call('201 POST /portal-links', portalLink, { body });
    await this.page('/portal-links', portalLink, { ownerId: 'owner', q: 'link' });
    await this.call(`200 GET /portal-links/${made.uid}`, portalLink);
    await this.call(`202 PUT /portal-links/${made.uid}`, portalLink, { body });
    await this.call(`200 PUT /portal-links/${made.uid}/revoke`, anything);
  }
}
