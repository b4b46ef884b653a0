import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
let endpoint: Json;

beforeAll(async () => {
  endpoint = await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1' });
  // Paused: what matters here is what is made for it, not that it arrives.
  endpoint = await app.project.put(`/endpoints/${endpoint.uid}/pause`);
});

const make = (fields: object = {}, expected = 201): Promise<Json> =>
  app.project.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid, ...fields }, expected);

describe('a subscription', () => {
  test.each([
    [{ type: 'linear', duration: '1h3m', interval_seconds: 5, retry_count: 2 }, [3_780, 3, 'linear']],
    [{ type: 'exponential', interval_seconds: 5, retry_count: 0 }, [5, 1, 'exponential']],
    [undefined, [100, 10, 'linear']],
  ])(
    'with retry_config %j plans its deliveries by it, or by the project without one',
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
});
