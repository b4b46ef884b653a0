import { codeAt, stepAt } from '../../src/people/totp.ts';
import { Listener } from '../pull/listener.ts';
import { subscribe, type TestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { cookieOf, SessionClient, signIn, tokenOf } from '../support/session-client.ts';
import { deliveryOf } from '../support/settled.ts';

const RECEIVER = 'https://receiver.posthorn.invalid/';

/**
 * The project of a reader who follows the reference. `ids` are the shell variables of the examples. Some operations
 * need their own, and some answers have one that a later operation needs.
 */
export class ReferenceScene {
  readonly app: TestApp;
  readonly ids: Record<string, string> = {};
  readonly #codes: string[] = [];
  #listener: Listener | undefined;
  #pullEndpoint = '';

  constructor(app: TestApp) {
    this.app = app;
  }

  async setUp(): Promise<void> {
    const { project, instance } = this.app;
    await project.put('', {
      config: { meta_event: { is_enabled: true, event_type: ['endpoint.*'], url: RECEIVER } },
    });
    const { endpoint, subscription } = await subscribe(project, RECEIVER, {
      endpoint: { owner_id: 'customer-42' },
      subscription: { ordering: { key: '$.body.customer', on_failure: 'skip' } },
    });
    const eventType = await project.post('/event-types', { name: 'invoice.created' });
    const source = await project.post('/sources', {
      name: 'hooks',
      type: 'http',
      verifier: { type: 'noop' },
    });
    const portalLink = await project.post('/portal-links', {
      name: 'shop',
      owner_id: 'customer-42',
      auth_type: 'refresh_token',
    });
    Object.assign(this.ids, {
      endpoint_id: endpoint.uid,
      subscription_id: subscription.uid,
      event_type_id: eventType.uid,
      event_type: 'invoice.paid',
      source_id: source.uid,
      portal_link_id: portalLink.uid,
      portal_token: portalLink.auth_key,
    });
    await this.#deliver();
    const ann = await instance.post('/people', { email: 'ann@example.com', name: 'Ann' });
    this.ids['token'] = tokenOf(ann.link);
    this.#listener = await Listener.start(project);
    this.ids['device_id'] = (await project.get('/devices')).content[0].uid;
  }

  async #deliver(): Promise<void> {
    const { project } = this.app;
    const event = await project.post('/events/broadcast', {
      event_type: 'invoice.paid',
      data: { invoice: 7 },
    });
    const sent = (page: Json) => page.content[0]?.status === 'Success';
    const delivery = await deliveryOf(project, event);
    const [attempt] = await project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);
    const metaEvents = await eventually(() => project.get('/meta-events'), sent);
    Object.assign(this.ids, {
      event_id: event.uid,
      event_delivery_id: delivery.uid,
      delivery_attempt_id: attempt.uid,
      meta_event_id: metaEvents.content[0].uid,
    });
  }

  /** Variables that have another value in the example of one operation. */
  async before(operation: string): Promise<Record<string, string>> {
    if (operation === 'testSourceConnection') return { source_id: await this.#brokerSource() };
    if (operation === 'pullEndpoint') return { endpoint_id: await this.#pullEndpointWithEvent() };
    if (operation === 'verifyEndpoint')
      // As if its URL had answered before.
      await this.app.database.query(`update endpoints set verification = 'challenge', verified_url = url`);
    if (operation === 'reportResults') return { endpoint_id: this.#pullEndpoint };
    if (operation === 'resendEventDelivery') return { event_delivery_id: await this.#failedDelivery() };
    if (operation.endsWith('OrderingKeys')) return { ordering_key_id: await this.#heldKey() };
    if (operation === 'rescheduleEvent') return { event_id: await this.#delayedEvent() };
    if (operation === 'endSession') return { session_id: await this.#otherSession() };
    if (operation === 'passSecondFactor')
      // As if the session had begun before the second factor was set up.
      await this.app.database.query('update sessions set has_second_factor = false');
    if (/^(pass|remove)SecondFactor$|^renewRecoveryCodes$/.test(operation))
      return { code: this.#codes.pop() ?? '' };
    return {};
  }

  /** Keeps what later examples need of an answer. */
  after(operation: string, { data, job }: Json): void {
    const { ids } = this;
    if (job !== undefined) ids['job_id'] = job.uid;
    if (operation === 'createFilter') ids['filter_id'] = data.uid;
    if (operation === 'createKey') ids['key_id'] = data.uid;
    if (operation === 'rollSigningKey') ids['kid'] = data.kid;
    if (operation === 'muteFailures') ids['mute_id'] = data.uid;
    if (operation === 'saveView') ids['view_id'] = data.uid;
    if (operation === 'inviteToProject') ids['person_id'] = data.person.uid;
    if (operation === 'beginSecondFactor') ids['code'] = codeAt(data.secret, stepAt(Date.now()));
    if (operation === 'confirmSecondFactor') this.#codes.push(...data.recovery_codes);
    if (operation === 'renewRecoveryCodes') this.#codes.splice(0, Infinity, ...data);
    if (operation === 'pullEndpoint') {
      ids['event_delivery_id'] = data.deliveries[0].uid;
      ids['lease'] = data.deliveries[0].lease;
    }
  }

  async #brokerSource(): Promise<string> {
    const kafka = { brokers: ['127.0.0.1:1'], consumer_group_id: 'g', topic_name: 't' };
    const source = await this.app.project.post('/sources', {
      name: 'broker',
      type: 'pub_sub',
      is_disabled: true,
      pub_sub: { type: 'kafka', workers: 1, kafka },
    });
    return source.uid;
  }

  async #heldKey(): Promise<string> {
    await this.#failedDelivery({ ordering: { key: '$.body.invoice', on_failure: 'hold' } });
    const { content } = await this.app.project.get('/ordering-keys?held=true');
    return content[0].uid;
  }

  async #failedDelivery(more: object = {}): Promise<string> {
    const { project } = this.app;
    const { endpoint } = await subscribe(project, `${RECEIVER}status/500`, {
      subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 0 }, ...more },
    });
    const event = { endpoint_id: endpoint.uid, event_type: 'invoice.paid', data: { invoice: 7 } };
    await project.post('/events', event);
    const { content } = await eventually(
      () => project.get(`/eventdeliveries?endpointId=${endpoint.uid}&status=Failure`),
      { content: { length: atLeast(1) } },
    );
    return content[0].uid;
  }

  async #delayedEvent(): Promise<string> {
    const event = { event_type: 'invoice.paid', data: {}, delay_seconds: 600 };
    return (await this.app.project.post('/events/broadcast', event)).uid;
  }

  async #pullEndpointWithEvent(): Promise<string> {
    const { project } = this.app;
    const { uid } = await project.post('/endpoints', { name: 'pulled', delivery: 'pull' });
    await project.post('/events', { endpoint_id: uid, event_type: 'invoice.paid', data: {} });
    this.#pullEndpoint = uid;
    return uid;
  }

  async #otherSession(): Promise<string> {
    const password = 'orchid lamp quarry 7 and more';
    const response = await signIn(this.app.url, { email: 'ann@example.com', password });
    const session = new SessionClient(`${this.app.url}/auth`, cookieOf(response));
    const sessions: Json[] = await session.get('/sessions');
    return sessions.find(({ current }) => current).uid;
  }

  async stop(): Promise<void> {
    await this.#listener?.close();
  }
}
