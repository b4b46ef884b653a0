import {
  createMCPClient,
  experimental_createMCPEventWebhook as createWebhook,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEventSubscription as Subscription,
} from '@ai-sdk/mcp';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually, happened } from '../support/eventually.ts';
import { newestDelivery } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { Callback, trust } from './callback.ts';

/** An agent written with a library of others: it subscribes, passes the challenge, receives, refreshes and lapses. */
const app = await shared(startTestApp({ POSTHORN_MCP: 'on', ...trust }));
const { project } = app;

class MemoryStore implements EventStore {
  readonly rows = new Map<string, Subscription>();
  get = async (key: string) => this.rows.get(key);
  getById = async (id: string) => [...this.rows.values()].find((row) => row.id === id);
  set = async (row: Subscription) => void this.rows.set(row.key, row);
  update = async (key: string, patch: Partial<Subscription>) =>
    void this.rows.set(key, { ...(this.rows.get(key) as Subscription), ...patch });
  delete = async (key: string) => void this.rows.delete(key);
}

test('an agent of the AI SDK follows a customer by a portal token', async () => {
  await project.post('/event-types', {
    name: 'ticket.closed',
    description: 'A ticket was closed.',
    json_schema: { type: 'object', properties: { team: { type: 'string' }, ticket: { type: 'integer' } } },
  });
  const { token } = await project.post('/portal-links', {
    name: 'l',
    owner_id: 'acme',
    can_manage_endpoint: true,
  });
  const store = new MemoryStore();
  const seen: Json[] = [];
  const onEvent = async ({ event, subscription }: { event: Json; subscription: Json }) => {
    seen.push({ ...event, subscription: subscription.id });
    happened();
  };
  const callback = await shared(Callback.start(createWebhook({ store, onEvent })));
  const client = await createMCPClient({
    transport: { type: 'http', url: `${app.url}/mcp`, headers: { authorization: `Bearer ${token}` } },
    experimental_events: { store },
  });
  const events = client.experimental_events;
  expect((await events.list()).events).toMatchObject([{ name: 'ticket.closed', delivery: ['webhook'] }]);

  const delivery = { mode: 'webhook' as const, url: `${callback.url}/agent` };
  const made = await events.subscribe({
    name: 'ticket.closed',
    arguments: { team: 'blue' },
    delivery,
    ttlMs: 60_000,
  });
  expect(callback.requests.map(({ json }) => json.type)).toEqual(['verification']);

  const send = (owner_id: string, team: string, ticket: number) =>
    project.post('/events/fanout', { owner_id, event_type: 'ticket.closed', data: { team, ticket } });
  const wanted = await send('acme', 'blue', 1);
  await send('acme', 'red', 2);
  await send('globex', 'blue', 3);
  await eventually(() => seen, { length: atLeast(1) });
  expect(seen).toEqual([
    {
      eventId: wanted.uid,
      name: 'ticket.closed',
      timestamp: wanted.created_at,
      data: { team: 'blue', ticket: 1 },
      cursor: null,
      subscription: made.id,
    },
  ]);

  const again = await events.refresh({ id: made.id });
  expect(again.id).toBe(made.id);
  expect(Date.parse(String(again.refreshBefore))).toBeGreaterThanOrEqual(
    Date.parse(String(made.refreshBefore)),
  );
  expect((await project.get('/endpoints?ownerId=acme')).content.length).toBe(1);

  // It stops refreshing.
  const [endpoint] = (await project.get('/endpoints?ownerId=acme')).content;
  const soon = new Date(Date.now() + 3_000).toISOString();
  await project.put(`/endpoints/${endpoint.uid}`, { expires_at: soon });
  await eventually(async () => (await project.get(`/endpoints/${endpoint.uid}`)).status, 'inactive');
  await send('acme', 'blue', 4);
  await newestDelivery(project, `endpointId=${endpoint.uid}`, 'Discarded');
  expect(seen.length).toBe(1);

  // It comes back: the callback has to echo again, and the same subscription goes on.
  expect((await events.refresh({ id: made.id })).id).toBe(made.id);
  expect(callback.requests.filter(({ json }) => json.type === 'verification').length).toBe(2);
  await send('acme', 'blue', 5);
  await eventually(() => seen, { length: atLeast(2) });
  await events.unsubscribe({ id: made.id });
  expect((await project.get('/endpoints?ownerId=acme')).content).toEqual([]);
  await client.close();
});
