import pg from 'pg';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';

test("one tenant's hanging statements take no connection from others' keys and events", async ({
  onTestFinished,
}) => {
  const app = await startTestApp();
  onTestFinished(() => app.stop());
  const made = await app.instance.post('/projects', { name: 'other', type: 'outgoing' });
  const other = new ApiClient(`${app.url}/api/v1/projects/${made.project.uid}`, made.api_key.key);
  const send = (client: ApiClient) => client.post('/events/broadcast', { event_type: 'a', data: {} });
  await send(other);
  await app.project.get('/endpoints');
  const fresh = await app.instance.post(`/projects/${made.project.uid}/keys`, { name: 'not used yet' });

  const holder = new pg.Client(app.database.url);
  await holder.connect();
  await holder.query('begin; lock table endpoints in access exclusive mode');
  const hanging = Array.from({ length: 40 }, () => app.project.raw('GET', '/endpoints'));
  await eventually(
    async () => app.app.db.pools().general,
    ({ idle, waiting }) => idle === 0 && waiting > 0,
  );
  const accepted = await send(new ApiClient(other.base, fresh.key));
  expect(accepted.uid).not.toBe('');
  expect(app.app.db.pools().general.waiting).toBeGreaterThan(0);
  await holder.query('rollback');
  await holder.end();
  await Promise.all(hanging);
});
