import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';

/** A project with realistic traffic: real endpoints that answer, fail, hang up or are paused, and events for them. */
export interface Seed {
  endpoints: Record<'billing' | 'crm' | 'broken' | 'paused', Json>;
  subscriptions: Record<'billing' | 'crm' | 'broken' | 'paused', Json>;
  /** An event that went to an endpoint that fails. */
  failedEvent: Json;
  /** An event that no subscription matched. */
  unmatchedEvent: Json;
  source: Json;
  stop(): Promise<void>;
}

const LONG = 'Erik Ångström & Söhne – Übergrößenträger für Straßenbahnschaffnerinnen, 株式会社ウェブフック';

export async function seed(client: ApiClient): Promise<Seed> {
  const good = await Receiver.start();
  const bad = await Receiver.start();
  good.answerAlways((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'),
  );
  bad.answerAlways((request, response) => {
    if (request.path === '/hangs-up') response.destroy();
    else response.writeHead(500, { 'content-type': 'text/plain' }).end('database is down, ticket 4711');
  });
  const add = async (
    name: string,
    url: string,
    types: string[],
    more: object = {},
  ): Promise<[Json, Json]> => {
    const endpoint = await client.post('/endpoints', { name, url, ...more });
    const subscription = await client.post('/subscriptions', {
      name: `${name}: ${types.join(', ')}`,
      endpoint_id: endpoint.uid,
      filter_config: { event_types: types },
      retry_config: {
        type: 'linear',
        interval_seconds: 3600,
        retry_count: name === 'Broken receiver' ? 0 : 5,
      },
    });
    return [endpoint, subscription];
  };
  const [billing, billingSubscription] = await add('Billing', `${good.url}/billing`, ['invoice.*'], {
    owner_id: 'customer-7',
  });
  const [crm, crmSubscription] = await add(`CRM of ${LONG}`, `${bad.url}/hangs-up`, [
    'customer.*',
    'invoice.overdue',
  ]);
  const [broken, brokenSubscription] = await add('Broken receiver', `${bad.url}/down`, ['payment.failed'], {
    owner_id: 'customer-9',
  });
  const [paused, pausedSubscription] = await add('Paused warehouse', `${good.url}/warehouse`, [
    'stock.moved',
  ]);
  await client.put(`/endpoints/${paused.uid}/pause`, {});
  const source = await client.post('/sources', {
    name: 'GitHub of the shop',
    type: 'http',
    verifier: { type: 'noop' },
  });
  await fetch(source.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"action": "opened"}',
  });
  await client.post('/event-types', {
    name: 'invoice.paid',
    category: 'Billing',
    description: 'An invoice is paid.',
  });
  await client.post('/portal-links', { name: 'Customer 7', owner_id: 'customer-7' });
  const send = (event_type: string, data: object, key?: string): Promise<Json> =>
    client.post('/events/broadcast', {
      event_type,
      data,
      ...(key === undefined ? {} : { idempotency_key: key }),
    });
  for (let invoice = 1; invoice <= 12; invoice++)
    await send('invoice.paid', { invoice, amount: '12.50', customer: LONG }, `invoice-${invoice}`);
  await send('customer.created', { customer: { name: LONG, tags: ['a', 'b'], address: { city: 'Zürich' } } });
  await send('stock.moved', { pallet: 3, to: 'B 12' });
  await send('invoice.paid', {
    invoice: 99,
    lines: Array.from({ length: 400 }, (_, line) => ({ line, text: 'x'.repeat(60) })),
  });
  for (let payment = 1; payment <= 5; payment++)
    await send('payment.failed', { payment, reason: 'card declined' });
  const failedEvent = await send(
    'payment.failed',
    { payment: 'pay_4242', reason: 'card declined' },
    'pay-4242',
  );
  const unmatchedEvent = await send('newsletter.opened', { campaign: 'autumn' });
  await eventually(() => client.get('/eventdeliveries?status=Failure&perPage=50'), {
    content: { length: atLeast(6) },
  });
  return {
    endpoints: { billing, crm, broken, paused },
    subscriptions: {
      billing: billingSubscription,
      crm: crmSubscription,
      broken: brokenSubscription,
      paused: pausedSubscription,
    },
    failedEvent,
    unmatchedEvent,
    source,
    stop: async () => {
      await good.stop();
      await bad.stop();
    },
  };
}
