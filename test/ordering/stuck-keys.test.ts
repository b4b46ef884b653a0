import { expect, test } from 'vitest';
import { scrape } from '../metrics/scrape.ts';
import { SECRET_KEY, startTestApp } from '../support/app.ts';
import { runPosthorn } from '../support/command.ts';
import { refuseWrites } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { shared } from '../support/shared.ts';
import { heldScene } from './held-scene.ts';

/** A key never waits for a delivery that no node can send. The janitor of a node that starts looks at all keys. */
const { log, lines } = linesOf('warn');
const app = await shared(startTestApp({}, log));

const LOST = 'released ordering keys that waited for a lost delivery';
const doctor = async () => {
  const env = { DATABASE_URL: app.database.url, POSTHORN_SECRET_KEY: SECRET_KEY };
  return (await runPosthorn(['doctor'], { env })).stdout;
};

test('a key whose head and next delivery were lost goes on with the one after them', async () => {
  const { client, endpoint, send, seen, drained } = await heldScene(app);
  await client.put(`/endpoints/${endpoint.uid}/pause`, undefined, 202);
  const events = [];
  for (let n = 1; n <= 4; n++) events.push(await send('a', n));
  await send('b', 1);
  expect(await doctor()).toMatch(/^ok +order /m);
  // as a node ends deliveries that knows nothing of ordering keys
  await app.database.query('delete from delivery_queue where project_id = $1 and event_id = any($2)', [
    client.projectId,
    events.slice(0, 2).map(({ uid }) => uid),
  ]);
  expect(await doctor()).toMatch(/^problem +order +1 ordering keys wait for a lost delivery/m);
  await client.put(`/endpoints/${endpoint.uid}/pause`, undefined, 202);
  await app.addNode();
  await drained();
  expect([seen('a'), seen('b')]).toEqual([[3, 4], [1]]);
  const [line] = await eventually(async () => lines().filter(({ msg }) => msg === LOST), {
    length: atLeast(1),
  });
  expect(line).toMatchObject({ level: 50, keys: 1 });
  expect(await doctor()).toMatch(/^ok +order /m);
});

test('deliveries of a key without a head go, and a held key whose failed delivery was removed is free', async () => {
  const { client, refused, send, seen, held, alerts, drained } = await heldScene(app);
  for (const n of [1, 10]) refused.add(n);
  const change = (text: string) => app.database.query(text, [client.projectId]);
  for (let n = 1; n <= 2; n++) await send('a', n);
  for (let n = 10; n <= 12; n++) await send('b', n);
  await held(2);
  await alerts(1);
  await change(
    "update ordering_keys set head_id = null, held_at = null where project_id = $1 and id like '%:a'",
  );
  await change("delete from event_deliveries where project_id = $1 and status = 'Failure'");
  await app.addNode();
  await drained();
  expect([seen('a'), seen('b')]).toEqual([
    [1, 2],
    [10, 11, 12],
  ]);
  expect((await alerts(2)).map(({ event_type }) => event_type)).toEqual(['alert.raised', 'alert.cleared']);
});

test('neither a project that moves nor one whose key cannot be freed keeps the keys of another waiting', async () => {
  const [moving, broken, fine] = await Promise.all([heldScene(app), heldScene(app), heldScene(app)]);
  moving.refused.add(1);
  await moving.send('a', 1);
  await moving.held(1);
  for (const { client, endpoint, send } of [broken, fine]) {
    await client.put(`/endpoints/${endpoint.uid}/pause`, undefined, 202);
    const head = await send('a', 1);
    await send('a', 2);
    await app.database.query('delete from delivery_queue where event_id = $1', [head.uid]);
  }
  const state = (to: string | null) =>
    app.database.query('update projects set cell_state = $2 where id = $1', [moving.client.projectId, to]);
  await state('draining');
  const allow = await refuseWrites(app.database, 'ordering_keys', broken.client.projectId);
  await fine.client.put(`/endpoints/${fine.endpoint.uid}/pause`, undefined, 202);
  const node = await app.addNode();
  await fine.drained();
  expect(fine.seen('a')).toEqual([2]);
  const failures = await eventually(
    async () => lines().filter(({ msg }) => msg === 'upkeep failed; retrying later'),
    { length: atLeast(1) },
  );
  expect(failures).toMatchObject([
    { duty: 'ordering_keys', project: broken.client.projectId, err: { message: 'refused' } },
  ]);
  const { value } = await scrape(node.url);
  expect(value('posthorn_upkeep_failures_total{duty="ordering_keys"}')).toBe(1);
  expect(value('posthorn_upkeep_failures_total{duty="discard"}')).toBe(0);
  await Promise.all([allow(), state(null)]);
});
