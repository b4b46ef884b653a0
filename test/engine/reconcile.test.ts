import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** After a lost answer a node looks for rows that it holds without knowing, and gives those back: those alone. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const queueEmpty = () =>
  eventually(
    () => app.database.query('select delivery_id, node_id from delivery_queue'),
    (rows) => rows.length === 0,
  );

test('rows held by a node that does not know them are released and sent', async () => {
  const { endpoint } = await subscribe(app.project, `${receiver.url}/unknown`, { eventTypes: ['unknown'] });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  for (let n = 0; n < 5; n++)
    await app.project.post('/events/broadcast', { event_type: 'unknown', data: { n } });
  // As a claim leaves them that was committed and whose answer was lost.
  const { nodeId, sink } = app.app.engine;
  await app.database.query('update delivery_queue set node_id = $1, fence = fence + 1', [nodeId]);
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  sink.unsure();
  await queueEmpty();
  expect(receiver.requests.map(({ json }) => json.n as number).sort((a, b) => a - b)).toEqual([
    0, 1, 2, 3, 4,
  ]);
});

test('a check for unknown rows at any moment frees none that is accepted, claimed, sent or recorded', async () => {
  receiver.requests.length = 0;
  const tried = new Set<string>();
  receiver.answerAlways(({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    const isAgain = tried.size === tried.add(id).size;
    setTimeout(() => response.writeHead(path === '/retried' && !isAgain ? 500 : 200).end(), 10);
  });
  const retry_config = { type: 'linear', interval_seconds: 1, retry_count: 3 };
  for (const path of ['/plain', '/retried'])
    await subscribe(app.project, `${receiver.url}${path}`, {
      eventTypes: ['busy'],
      subscription: { retry_config },
    });
  const looking = setInterval(() => app.app.engine.sink.unsure(), 3);
  for (let n = 0; n < 20; n++)
    await Promise.all(
      Array.from({ length: 20 }, () =>
        app.project.post('/events/broadcast', { event_type: 'busy', data: {} }),
      ),
    );
  await queueEmpty();
  clearInterval(looking);
  const counts = (path: string) => receiver.requests.filter((request) => request.path === path).length;
  expect([counts('/plain'), counts('/retried')]).toEqual([400, 800]);
  expect(
    await app.database.query('select count(*)::int as stale from delivery_attempts where is_stale'),
  ).toEqual([{ stale: 0 }]);
});
