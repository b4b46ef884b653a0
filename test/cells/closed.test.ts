import { expect, test } from 'vitest';
import { moveProject } from '../../src/cells/move/move-project.ts';
import { parkLeased, unparkAll } from '../../src/store/cells/queue-parking.ts';
import { lockExpansion } from '../../src/store/queue/expansions.ts';
import { look } from '../../src/store/upkeep/look.ts';
import { removeLeftovers } from '../../src/store/upkeep/remove-leftovers.ts';
import { PullScene, resultOf } from '../pull/consumer.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { TwoCells } from './two-cells.ts';

const cells = await shared(TwoCells.start());
const { receiver } = cells;
const event = { event_type: 'now', data: {} };

async function refusal(client: ApiClient, method: string, path: string, body?: object): Promise<void> {
  const response = await client.raw(method, path, { body });
  const said = (await response.json()) as Json;
  expect([method, path, response.status, said.code, response.headers.get('retry-after')]).toEqual([
    method,
    path,
    503,
    'project_moving',
    '1',
  ]);
}

test('a draining project takes events and sends none; a closed one and one that has moved refuse every call', async () => {
  const { client, path } = await cells.project(1);
  const sent = await client.post('/events/broadcast', event);
  const { uid: ended } = await deliveryOf(client, sent);
  let waiting: Json;
  await moveProject(
    {
      ...cells.deps(),
      onStep: async (step) => {
        if (step === 'draining') {
          const taken = await client.post('/events/broadcast', event);
          [waiting] = (await client.get(`/eventdeliveries?eventId=${taken.uid}`)).content;
          const explained = await client.get(`/events/${taken.uid}/explain`);
          expect(JSON.stringify(explained)).toContain('"cause":"moving"');
          await refusal(client, 'PUT', `/eventdeliveries/${ended}/resend`);
          await client.put('', { name: `renamed ${client.projectId}`, config: {} });
        }
        if (step !== 'closed') return;
        await refusal(client, 'POST', '/events/broadcast', event);
        await refusal(client, 'GET', '/eventdeliveries');
        await refusal(client, 'PUT', '', { name: 'no', config: {} });
        await refusal(client, 'POST', '/keys', { name: 'no' });
        await refusal(client, 'DELETE', '');
      },
    },
    cells.move(client),
  );
  expect(waiting.waiting_for).toEqual({ gate: 'moving', until: null });
  await refusal(cells.app.instance, 'GET', `/projects/${client.projectId}`);
  await refusal(cells.app.instance, 'GET', `/projects/${client.projectId}/events`);
  const there = cells.other(client);
  expect((await there.get('')).name).toBe(`renamed ${client.projectId}`);
  await eventually(() => there.get(`/eventdeliveries/${waiting.uid}`), { status: 'Success' });
  expect(receiver.at(path)).toHaveLength(2);
});

test('brokers, jobs, expiries and fan-outs of a project that moves rest, and its roles outlive its row', async () => {
  const { client } = await cells.project(1);
  const id = client.projectId;
  const { database, app } = cells.app;
  const person = { email: 'ann@example.com', name: 'Ann', role: 'developer' };
  await cells.app.instance.post(`/projects/${id}/people`, person);
  const schedule = { cron: '0 0 1 1 *', time_zone: 'UTC', event_type: 'yearly' };
  await client.post('/sources', { name: 'yearly', type: 'schedule', schedule });
  const work = async () => {
    const { hasJob, hasExpiry, brokers } = await look(app.db, new Map());
    return { hasJob, hasExpiry, hasSource: brokers !== null };
  };
  const resting: object[] = [];
  await moveProject(
    {
      ...cells.deps(),
      onStep: async (step) => {
        if (step !== 'draining') return;
        await database.query(
          `insert into jobs (id, project_id, type, status, input, actor_type) values ('j', $1, 'batch_cancel', 'queued', '{}', 'instance')`,
          [id],
        );
        await database.query('insert into delivery_expiries values (now(), $1, $2)', [id, 'd']);
        const event = {
          project_id: id,
          event_id: String(
            (await database.query('select id from events where project_id = $1', [id]))[0]?.['id'],
          ),
        };
        await database.query(
          `insert into expansions (id, event_id, project_id, subscription_ids, lane) values ('x', $1, $2, '{}', 0)`,
          [event.event_id, event.project_id],
        );
        resting.push(await work());
        resting.push({ expansion: await app.db.transaction((tx) => lockExpansion(tx, [])) });
      },
    },
    cells.move(client),
  );
  expect(resting).toEqual([{ hasJob: false, hasExpiry: false, hasSource: false }, { expansion: undefined }]);

  const roles = () => database.query('select role from memberships where project_id = $1', [id]);
  const before = { retentionMs: 0, configMs: Date.now() + 60_000 };
  for (let run = 0; run < 2; run += 1) await removeLeftovers(app.db, before, AbortSignal.timeout(60_000));
  expect(await database.query('select 1 from projects where id = $1', [id])).toEqual([]);
  expect(await roles()).toEqual([{ role: 'developer' }]);
});

test('results of a project that moves are refused, store nothing, and count where it goes on', async () => {
  const { client } = await cells.project(0);
  const { database, app } = cells.app;
  const scene = await PullScene.make(client);
  await scene.send();
  const [delivery] = await scene.pull({ lease_seconds: 1_800 });
  const results = `${scene.path}/results`;
  const body = { results: [resultOf(delivery)] };
  const attempts = () =>
    database.query('select 1 from delivery_attempts where project_id = $1', [client.projectId]);
  // The version stays, so the node does not learn of it.
  const state = (to: string | null) =>
    database.query('update projects set cell_state = $2 where id = $1', [client.projectId, to]);
  await state('draining');
  await parkLeased(app.db, client.projectId);
  await refusal(client, 'POST', results, body);
  expect(await attempts()).toEqual([]);
  await unparkAll(app.db, client.projectId);
  await state(null);
  await moveProject(
    {
      ...cells.deps(),
      onStep: async (step) => {
        if (step === 'draining' || step === 'drained') await refusal(client, 'POST', results, body);
      },
    },
    cells.move(client),
  );
  expect(await attempts()).toEqual([]);
  expect(await scene.report(body.results, cells.other(client))).toEqual(['recorded']);
});

test('under load nothing is lost or sent twice, and the lists keep their order', async () => {
  const { client, path } = await cells.project(0);
  const there = cells.other(client);
  const accepted: string[] = [];
  const move = { isDone: false };
  const send = async (): Promise<void> => {
    while (!move.isDone || accepted.length < 50) {
      const response = await (move.isDone ? there : client).raw('POST', '/events/broadcast', { body: event });
      const said = (await response.json()) as Json;
      if (response.status === 201) accepted.push(said.data.uid);
      else if (said.code !== 'project_moving') throw new Error(JSON.stringify(said));
    }
  };
  const senders = Promise.all([1, 2, 3, 4].map(send));
  await eventually(() => accepted.length, atLeast(21));
  await moveProject(cells.deps(), cells.move(client));
  move.isDone = true;
  await senders;
  const requests = await receiver.received(accepted.length, path);
  expect(requests).toHaveLength(accepted.length);
  expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(accepted.length);
  const listed: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await there.get(`/events?perPage=200${cursor}`);
    listed.push(...page.content.map(({ uid }: Json) => uid));
    if (!page.pagination.has_next_page) break;
    cursor = `&next_page_cursor=${page.pagination.next_page_cursor}`;
  }
  expect(listed).toEqual(accepted.toSorted().toReversed());
});
