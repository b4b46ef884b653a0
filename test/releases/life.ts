import { resultOf } from '../pull/consumer.ts';
import { subscribe, type TestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/servers/receiver.ts';
import { PASSWORD, tokenOf, use } from '../support/session-client.ts';
import { completedJob, deliveryOf, newestDelivery, shown } from '../support/settled.ts';

/**
 * A short life of an instance, so that its database has rows of every kind: config, people, deliveries in every state,
 * and attempts in each of the ways they are stored. A release keeps the database that this leaves behind. Add to it and
 * take nothing away: upgrade.test.ts looks for these values in the databases of all releases.
 */
export const UNICODE = { text: 'tab\t, line\n, \\. and \u0000 and 💌', ключ: ['日本', 1.5, null, true] };
export const BINARY = Buffer.from([0, 255, 1, 254, 10, 13, 92, 46]);
export const OWNER = 'customer-1';
/** Basic authentication of the source. */
export const SOURCE_USER = `Basic ${Buffer.from('u:p').toString('base64')}`;
/** An event with this idempotency key is stored. */
export const EVENT_KEY = 'key-1';
export const EMAIL = 'ann@example.com';

/** Paths that answer 503. */
const failing = new Set(['/failing', '/retrying', '/broken']);
const ONCE = { type: 'linear', duration: '1s', retry_count: 1 };
const LATER = { type: 'linear', duration: '30s', retry_count: 20 };

export async function live(app: TestApp, receiver: Receiver): Promise<void> {
  receiver.answerAlways(({ path }, response) => {
    response.writeHead(failing.has(path) ? 503 : 200, { 'content-type': 'text/plain', 'x-path': path });
    response.end(path === '/large' ? 'large, '.repeat(700) : 'ok');
  });
  await new Life(app.project, receiver.url).all();
  await invite(app);
  // Counts are added up every 30 s. Those of the second project come after that.
  await eventually(() => app.database.query('select from traffic limit 1'), { length: atLeast(1) });
  await openBreaker(app, receiver.url);
}

class Life {
  readonly #project: ApiClient;
  readonly #url: string;

  constructor(project: ApiClient, url: string) {
    this.#project = project;
    this.#url = url;
  }

  async all(): Promise<void> {
    await this.#configure();
    await this.#deliver();
    await this.#fail();
    await this.#hold();
    await this.#discard();
    await this.#pull();
    await this.#takeIn();
    await this.#metaEventsEnd();
  }

  async #configure(): Promise<void> {
    const event_type = ['endpoint.created', 'eventdelivery.failed', 'alert.*'];
    await this.#project.put('', {
      config: {
        strategy: { type: 'exponential', duration: 300, retry_count: 4 },
        meta_event: { is_enabled: true, url: `${this.#url}/meta`, secret: 'meta secret', event_type },
      },
    });
    const json_schema = { type: 'object', properties: { amount: { type: 'number' } } };
    await this.#project.post('/event-types', { name: 'order.paid', description: 'Paid.', json_schema });
    await this.#project.post('/portal-links', { name: 'shop', owner_id: OWNER, can_manage_endpoint: true });
    await this.#project.post('/keys', { name: 'reader', role: 'viewer' });
    await this.#project.post('/views', { page: 'events', name: 'orders', query: 'query=order' });
    await this.#project.call('POST', '/endpoints', {
      body: { name: 'made once', url: `${this.#url}/once`, key: 'once' },
      expected: 201,
      headers: { 'idempotency-key': 'made-once' },
    });
  }

  /** Enough attempts at one endpoint that templates are learned. */
  async #deliver(): Promise<void> {
    const { endpoint } = await this.#endpoint('/orders', ['order.*'], {
      endpoint: {
        owner_id: OWNER,
        secret: 'a signing secret',
        authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'credential' } },
      },
      subscription: {
        filter_config: { event_types: ['order.*'], filter: { body: { amount: { $gte: 10 } } } },
      },
    });
    for (let amount = 1; amount <= 40; amount += 1) {
      const event = await this.#send('order.paid', { amount }, { 'X-Kind': `k${amount % 3}` });
      if (amount >= 10) await deliveryOf(this.#project, event);
    }
    await this.#project.put(
      `/endpoints/${endpoint.uid}/expire_secret`,
      { secret: 'rolled', expiration: 240 },
      200,
    );
    const code = 'function transform(payload) { return { ...payload, "größe": payload.text.length } }';
    await this.#endpoint('/shaped', ['shaped'], { subscription: { function: code } });
    await deliveryOf(this.#project, await this.#send('shaped', UNICODE));
    await this.#endpoint('/large', ['large']);
    await deliveryOf(this.#project, await this.#send('large', { pad: 'x'.repeat(3_000) }));
    const keyed = { event_type: 'shaped', data: { text: 'keyed' }, idempotency_key: EVENT_KEY };
    await deliveryOf(this.#project, await this.#project.post('/events/broadcast', keyed));
    await this.#project.post('/events/broadcast', keyed);
    await this.#project.post('/events/fanout', {
      event_type: 'order.made',
      owner_id: OWNER,
      data: { amount: 11 },
    });
  }

  async #fail(): Promise<void> {
    const { endpoint } = await this.#endpoint('/failing', ['failing'], {
      subscription: { retry_config: ONCE, alert_config: { count: 3, threshold: '1h' } },
    });
    const failed: Json[] = [];
    for (let number = 0; number < 6; number += 1)
      failed.push(await deliveryOf(this.#project, await this.#send('failing', { number }), 'Failure'));
    // One of them is resent and arrives. The others stay.
    failing.delete('/failing');
    await this.#project.put(`/eventdeliveries/${failed[0].uid}/resend`, undefined, 200);
    await shown(this.#project, `/eventdeliveries/${failed[0].uid}`, { status: 'Success' });
    await this.#project.post('/failures/mutes', { endpoint_id: endpoint.uid, outcome: 'http_503' });
    await this.#endpoint('/retrying', ['retrying'], { subscription: { retry_config: LATER } });
    for (let number = 0; number < 6; number += 1)
      await deliveryOf(this.#project, await this.#send('retrying', { ...UNICODE, number }), 'Retry');
  }

  /** Deliveries that wait for a person, a consumer or their turn. */
  async #hold(): Promise<void> {
    const { endpoint } = await this.#endpoint('/paused', ['held']);
    await this.#project.put(`/endpoints/${endpoint.uid}/pause`);
    for (const data of [UNICODE, { number: 1 }, { number: 2 }]) await this.#send('held', data);
    const limited = await this.#endpoint('/limited', ['limited'], {
      endpoint: { rate_limit: 2, rate_limit_duration: 60 },
    });
    for (let number = 0; number < 3; number += 1) await this.#send('limited', { number });
    await eventually(
      () => this.#project.get(`/eventdeliveries?endpointId=${limited.endpoint.uid}&status=Success`),
      { content: { length: 2 } },
    );
  }

  async #discard(): Promise<void> {
    const { endpoint } = await this.#endpoint('/inactive', ['inactive']);
    await this.#project.put(`/endpoints/${endpoint.uid}`, { is_disabled: true });
    await deliveryOf(this.#project, await this.#send('inactive', {}), 'Discarded');
    const held = await newestDelivery(this.#project, 'eventType=held', 'Scheduled');
    const job = await this.#project.post(`/eventdeliveries/cancel?deliveryId=${held.uid}`, undefined, 200);
    await completedJob(this.#project, job);
    // A deleted endpoint, whose deliveries stay.
    await this.#project.delete(`/endpoints/${endpoint.uid}`);
  }

  async #pull(): Promise<void> {
    const endpoint = await this.#project.post('/endpoints', {
      name: 'pulled',
      delivery: 'pull',
      owner_id: OWNER,
    });
    for (let number = 0; number < 4; number += 1)
      await this.#project.post('/events', {
        endpoint_id: endpoint.uid,
        event_type: 'pulled',
        data: { number },
      });
    const path = `/endpoints/${endpoint.uid}/pull`;
    const { deliveries } = await this.#project.post(
      path,
      { max: 3, wait_seconds: 30, lease_seconds: 1_800 },
      200,
    );
    const results = [resultOf(deliveries[0]), resultOf(deliveries[1], false, 'out of stock')];
    await this.#project.post(`${path}/results`, { results }, 200);
  }

  /** An incoming webhook with bytes, and an event whose function fails. */
  async #takeIn(): Promise<void> {
    const source = await this.#project.post('/sources', {
      name: 'hooks',
      type: 'http',
      verifier: { type: 'basic_auth', basic_auth: { username: 'u', password: 'p' } },
      forward_headers: ['X-Kind'],
      custom_response: { body: '{"got":true}', content_type: 'application/json' },
    });
    const kafka = {
      brokers: ['127.0.0.1:1'],
      topic_name: 't',
      auth: { type: 'plain', tls: false, username: 'u', password: 'p' },
    };
    const pub_sub = { type: 'kafka', workers: 1, kafka };
    await this.#project.post('/sources', { name: 'topic', type: 'pub_sub', is_disabled: true, pub_sub });
    await this.#endpoint('/binary', ['*'], { subscription: { source_id: source.uid } });

    const headers = {
      authorization: SOURCE_USER,
      'content-type': 'application/octet-stream',
      'x-kind': 'binary',
    };
    await fetch(`${source.url}?page=2`, { method: 'POST', body: BINARY, headers });
    await newestDelivery(this.#project, `query=binary`, 'Success');
    const code = 'function transform() { throw new Error("no such customer") }';
    await this.#endpoint('/thrown', ['thrown'], { subscription: { function: code } });
    await deliveryOf(this.#project, await this.#send('thrown', {}), 'Failure');
  }

  async #metaEventsEnd(): Promise<void> {
    await eventually(
      () => this.#project.get('/meta-events?perPage=1000'),
      ({ content }) =>
        content.every((each: Json) => each.status === 'Success') &&
        content.some((each: Json) => each.event_type === 'alert.raised'),
    );
  }

  #endpoint(path: string, eventTypes: string[], fields: object = {}): ReturnType<typeof subscribe> {
    const { endpoint, ...others } = fields as { endpoint?: object };
    return subscribe(this.#project, `${this.#url}${path}`, {
      eventTypes,
      endpoint: { name: path.slice(1), ...endpoint },
      ...others,
    });
  }

  #send(event_type: string, data: object, custom_headers: object = {}): Promise<Json> {
    return this.#project.post('/events/broadcast', { event_type, data, custom_headers });
  }
}

async function invite(app: TestApp): Promise<void> {
  const path = `/projects/${app.project.projectId}/people`;
  const { link } = await app.instance.post(path, { email: EMAIL, name: 'Ann', role: 'developer' });
  await use(app.url, { token: tokenOf(link), password: PASSWORD });
}

/** A second project, with deliveries behind a circuit breaker. */
async function openBreaker(app: TestApp, url: string): Promise<void> {
  const project = await app.newProject({
    circuit_breaker: { sample_rate: 1, error_timeout: 1, minimum_request_count: 4, failure_threshold: 50 },
    strategy: { type: 'linear', duration: 1, retry_count: 100 },
  });
  const { endpoint } = await subscribe(project, `${url}/broken`);
  for (let number = 0; number < 5; number += 1)
    await project.post('/events/broadcast', { event_type: 'x', data: { number } });
  await shown(project, `/endpoints/${endpoint.uid}`, { cb_state: 'open' });
}
