import { expect, test } from 'vitest';
import { moveProject } from '../../src/cells/move/move-project.ts';
import { subscribe } from '../support/app.ts';
import type { ApiClient } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { addFutureRow, setClock, TwoCells } from './two-cells.ts';

const HOUR_MS = 3_600_000;
/** More than a test takes, and far less than the clocks differ by. */
const SOME_SECONDS = 600;
const cells = await shared(TwoCells.start({ aheadMs: 3 * HOUR_MS }));
const { receiver } = cells;
receiver.answerAlways(({ path }, response) => {
  response.writeHead(path === '/failing' || path === '/broken' ? 503 : 200).end();
});

/** In seconds, by the clock of that database. */
async function times(database: TestDatabase, { projectId }: ApiClient): Promise<Record<string, number>> {
  const [row] = await database.query(
    `select
       (select max(extract(epoch from due_at - now()))::float8 from delivery_queue where project_id = $1 and lane = 1) as retry,
       (select extract(epoch from due_at - now())::float8 from delivery_queue where project_id = $1 and lane = 3) as lease,
       (select extract(epoch from now() - quiet_since)::float8 from rate_leases) as quiet,
       (select extract(epoch from now())::float8 - times[1] from intake_windows where key = $1) as taken,
       (select max(extract(epoch from now() - changed_at))::float8 from endpoint_breakers where project_id = $1) as opened`,
    [projectId],
  );
  return row as Record<string, number>;
}

async function fill(client: ApiClient): Promise<{ broken: string }> {
  const at = (path: string, type: string, fields: object = {}) =>
    subscribe(client, `${receiver.url}${path}`, { eventTypes: [type], ...fields });
  await at('/limited', 'limited', { endpoint: { rate_limit: 1, rate_limit_duration: 3_600 } });
  await at('/failing', 'failing', {
    subscription: { retry_config: { type: 'linear', duration: '3000s', retry_count: 5 } },
  });
  const { endpoint } = await at('/broken', 'broken');
  await at('/well', 'well');
  for (let n = 0; n < 2; n += 1) await send(client, 'limited');
  await deliveryOf(client, await send(client, 'failing'), 'Retry');
  await send(client, 'broken');
  const pulled = await client.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  await client.post('/events', { endpoint_id: pulled.uid, event_type: 'pulled', data: {} });
  await client.post(`/endpoints/${pulled.uid}/pull`, { max: 1, wait_seconds: 30, lease_seconds: 1_800 }, 200);
  return { broken: endpoint.uid };
}

const send = (client: ApiClient, event_type: string) =>
  client.post('/events/broadcast', { event_type, data: {} });

test('a retry, a lease, a breaker and the windows of limits keep their age, though the clock of the target is hours ahead', async () => {
  const client = await cells.app.newProject({
    ratelimit: { count: 1_000, duration: 3_600 },
    circuit_breaker: { sample_rate: 1, minimum_request_count: 1, failure_threshold: 1, error_timeout: 3_600 },
  });
  const { broken } = await fill(client);
  await eventually(() => client.get(`/endpoints/${broken}`), { cb_state: 'open' });
  await eventually(() => receiver.at('/limited').length, 1);
  let before: Record<string, number> = {};
  await moveProject(
    {
      ...cells.deps(),
      onStep: async (step) => {
        if (step === 'closed') before = await times(cells.app.database, client);
      },
    },
    cells.move(client),
  );
  const after = await times(cells.target, client);
  // Rows of a closed project are parked for a thousand years.
  const parkedBy = 8_766_000 * 3_600;
  for (const name of ['retry', 'lease']) before[name] = (before[name] ?? 0) - parkedBy;
  for (const [name, seconds] of Object.entries(before))
    expect([name, Math.abs((after[name] ?? Number.NaN) - seconds) < SOME_SECONDS]).toEqual([name, true]);

  const there = cells.other(client);
  for (const type of ['limited', 'broken', 'well']) await send(there, type);
  await receiver.received(1, '/well');
  const counts = ['/limited', '/failing', '/broken'].map((path) => receiver.at(path).length);
  expect(counts).toEqual([1, 1, 1]);
});

test('a row from the future is found before the project closes, also if it came during the move', async () => {
  const { client } = await cells.project(1);
  const steps: string[] = [];
  const onStep = async (step: string) => {
    steps.push(step);
    if (step === 'draining') await addFutureRow(cells.app.database, client.projectId, 5 * HOUR_MS);
  };
  const moving = moveProject({ ...cells.deps(), onStep }, cells.move(client));
  await expect(moving).rejects.toThrow(/was ahead when it was made: move the project after \d{4}-/);
  expect(steps.at(-1)).toBe('drained');
  expect(await cells.openIn(client)).toEqual(['source']);
});

test('a target whose clock is more than a minute behind is refused before the move begins', async () => {
  const behind = await createTestDatabase();
  try {
    await setClock(behind, -2 * HOUR_MS);
    const { client } = await cells.project(1);
    const steps: string[] = [];
    const onStep = (step: string) => void steps.push(step);
    const moving = moveProject({ ...cells.deps(), target: behind.open(), onStep }, cells.move(client));
    await expect(moving).rejects.toThrow(
      /the clock of the target is \d+ s behind the newest row.*; set it right first$/,
    );
    expect(steps).toEqual([]);
    expect(await cells.openIn(client)).toEqual(['source']);
    expect(await behind.query('select 1 from projects where id = $1', [client.projectId])).toEqual([]);
  } finally {
    await behind.stop();
  }
});
