import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { storedRows } from '../support/stored-rows.ts';

let app: TestApp;
let endpoint: Json;

beforeAll(async () => {
  app = await startTestApp();
  endpoint = await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1' });
  // Paused: what matters here is what is made for it, not that it arrives.
  endpoint = await app.project.put(`/endpoints/${endpoint.uid}/pause`);
});

afterAll(() => app?.stop());

const make = (fields: object = {}, expected = 201): Promise<Json> =>
  app.project.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid, ...fields }, expected);

describe('a subscription', () => {
  test('made with the least takes every event of its endpoint, and shows the endpoint', async () => {
    const subscription = await make();
    expect(subscription).toMatchObject({
      name: 's',
      type: 'api',
      status: 'active',
      project_id: app.projectId,
      delivery_mode: 'at_least_once',
      filter_config: { event_types: ['*'], filter: { body: {}, headers: {} } },
      endpoint_metadata: { uid: endpoint.uid, name: 'e' },
      deleted_at: null,
    });
    expect(await app.project.get(`/subscriptions/${subscription.uid}`)).toEqual(subscription);
  });

  test('may name its endpoint by app_id', async () => {
    const made = await app.project.post('/subscriptions', { name: 's', app_id: endpoint.uid });
    expect(made.endpoint_metadata.uid).toBe(endpoint.uid);
  });

  test.each([
    [{ type: 'linear', duration: '1h3m', interval_seconds: 5, retry_count: 2 }, [3_780, 3, 'linear']],
    [{ type: 'exponential', interval_seconds: 5, retry_count: 0 }, [5, 1, 'exponential']],
    [undefined, [100, 10, 'linear']],
  ])(
    'with retry_config %j plans its deliveries by it, or by the project where there is none',
    async (retry_config, planned) => {
      const { uid } = await app.project.post('/endpoints', { name: 'r', url: 'http://127.0.0.1:1' });
      await app.project.put(`/endpoints/${uid}/pause`);
      await make({ endpoint_id: uid, retry_config });
      const event = await app.project.post('/events', { endpoint_id: uid, event_type: 'x', data: {} });
      const { content } = await app.project.get(`/eventdeliveries?eventId=${event.uid}`);
      const [interval_seconds, retry_limit, strategy] = planned;
      expect(content).toHaveLength(1);
      expect(content[0].metadata).toMatchObject({
        interval_seconds,
        retry_limit,
        strategy,
        num_trials: 0,
        max_retry_seconds: 7_200,
      });
    },
  );

  test.each([
    [{ name: '' }, 'name'],
    [{ endpoint_id: '' }, 'endpoint_id'],
    [{ endpoint_id: 7 }, 'endpoint_id'],
    [{ filter_config: { event_types: 'x' } }, 'filter_config.event_types'],
    [{ filter_config: { event_types: [''] } }, 'filter_config.event_types.0'],
    [{ retry_config: { type: 'random' } }, 'retry_config.type'],
    [{ retry_config: { duration: 'ten' } }, 'retry_config.duration'],
    [{ retry_config: { duration: '-1s' } }, 'retry_config.duration'],
    [{ retry_config: { retry_count: -1 } }, 'retry_config.retry_count'],
    [{ rate_limit_config: { count: -1, duration: 1 } }, 'rate_limit_config.count'],
    [{ delivery_mode: 'twice' }, 'delivery_mode'],
  ])('is refused with %j', async (fields, field) => {
    const before = await storedRows(app.database);
    expect((await make(fields, 400)).message).toContain(`${field}: `);
    expect(await storedRows(app.database)).toEqual(before);
  });
});

describe('matching', () => {
  test('goes by exact type, by a trailing glob or by all; a broadcast makes one delivery per endpoint', async () => {
    const target = async (...types: string[][]): Promise<string> => {
      const { uid } = await app.project.post('/endpoints', { name: 'm', url: 'http://127.0.0.1:1' });
      await app.project.put(`/endpoints/${uid}/pause`);
      for (const event_types of types) await make({ endpoint_id: uid, filter_config: { event_types } });
      return uid;
    };
    const exact = await target(['invoice.paid']);
    const glob = await target(['invoice.*'], ['invoice.paid']);
    const other = await target(['invoice'], ['invoice.paid.late'], ['Invoice.paid']);
    const matched = async (event_type: string) => {
      const event = await app.project.post('/events/broadcast', { event_type, data: {} });
      const { content } = await app.project.get(`/eventdeliveries?eventId=${event.uid}`);
      expect(new Set(content.map((row: Json) => row.endpoint_id))).toEqual(new Set(event.endpoints));
      expect(content).toHaveLength(event.endpoints.length);
      return [exact, glob, other].filter((uid) => event.endpoints.includes(uid));
    };
    expect(await matched('invoice.paid')).toEqual([exact, glob]);
    expect(await matched('invoice.sent')).toEqual([glob]);
    expect(await matched('invoice')).toEqual([other]);
    expect(await matched('invoicepaid')).toEqual([]);
  });
});
