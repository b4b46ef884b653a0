import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());

const rows = (answer: Json): Json[] => answer.content ?? answer;

/** Every table with updated_at, and where its rows are listed. */
const lists: Record<string, string> = {
  endpoints: '/endpoints',
  subscriptions: '/subscriptions',
  sources: '/sources',
  portal_links: '/portal-links',
  jobs: '/jobs',
  event_deliveries: '/eventdeliveries',
  meta_events: '/meta-events',
};

test('no row was changed before it was created, for any clock difference between node and database', async () => {
  await app.project.put('', {
    config: { meta_event: { is_enabled: true, type: 'http', event_type: ['*'], url: 'http://127.0.0.1:9/' } },
    name: 'default',
  });
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/');
  const source = await httpSource(app.project);
  expect(source.updated_at >= source.created_at).toBe(true);
  await app.project.post('/portal-links', { name: 'link', owner_id: 'owner', endpoints: [endpoint.uid] });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  await app.project.post('/events/broadcast', { event_type: 'a', data: {} });
  await app.project.post('/eventdeliveries/batchretry', undefined, 200);
  for (const [table, path] of Object.entries(lists)) {
    await app.database.query(`update ${table} set updated_at = updated_at - interval '1 hour'`);
    const content = rows(await app.project.get(path));
    expect(content.length, table).toBeGreaterThan(0);
    expect(
      content.filter((row) => row.updated_at < row.created_at),
      table,
    ).toEqual([]);
  }
  await app.database.query("update projects set updated_at = updated_at - interval '1 hour'");
  const project = await app.project.get('');
  expect(project.updated_at >= project.created_at).toBe(true);
});
