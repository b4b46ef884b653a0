import { beforeEach, expect, test } from 'vitest';
import { asId, type EndpointId } from '../../src/domain/ids.ts';
import {
  dropRateLeases,
  parseDue,
  returnRateLeases,
  takeRateLeases,
  unknownHolders,
} from '../../src/store/limits/rate-leases.ts';
import { freeAllLeased, leave } from '../../src/store/queue/nodes.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

const database = await shared(createTestDatabase());
const db = database.open();

beforeEach(async () => {
  await database.query('delete from rate_leases');
  await database.query('delete from nodes');
});

/** A node that beat so many seconds ago. */
const node = (id: string, silentSeconds = 0) =>
  database.query(
    "insert into nodes (id, roles, seal_keys, knows, beat_at) values ($1, 'deliver', '{}', '', clock_timestamp() - $2 * interval '1 second')",
    [id, silentSeconds],
  );

const take = async (nodeId: string, endpointId = 'e') =>
  (await takeRateLeases(db, nodeId, [{ endpointId, places: [] }]))[0];

test('a lease has one holder, which may renew it', async () => {
  await node('a');
  await node('b');
  const first = await take('a');
  expect(first).toMatchObject({ endpointId: 'e', epoch: 1, sends: null });
  expect(first?.quietMs).toBeGreaterThan(86_400_000);
  expect(await take('b')).toBeUndefined();
  expect(await take('a')).toMatchObject({ epoch: 1 });
});

test('a released lease includes the sends of its holder', async () => {
  await node('a');
  await node('b');
  await take('a');
  await returnRateLeases(db, 'a', [{ endpointId: 'e', sends: { e: [700, 20] } }]);
  const taken = await take('b');
  expect(taken).toMatchObject({ epoch: 2, sends: { e: [700, 20] } });
  // Nothing was sent under it, so the sends of the previous holder are still passed on.
  await returnRateLeases(db, 'b', [{ endpointId: 'e', sends: 'none' }]);
  const again = await take('a');
  expect(again).toMatchObject({ epoch: 3, sends: { e: [700, 20] } });
  expect(again?.quietMs).toBeGreaterThanOrEqual(taken?.quietMs ?? 0);
  await returnRateLeases(db, 'a', [{ endpointId: 'e', sends: 'unknown' }]);
  expect(await take('b')).toMatchObject({ sends: null });
});

test('a silent node loses its leases after ten seconds, and is assumed to have sent until eight after its last heartbeat', async () => {
  await node('silent', 9);
  await node('b');
  await take('silent');
  await returnRateLeases(db, 'silent', [{ endpointId: 'e', sends: { e: [1] } }]);
  await take('silent');
  expect(await take('b')).toBeUndefined();
  await database.query(
    "update nodes set beat_at = clock_timestamp() - interval '11 seconds' where id = 'silent'",
  );
  const taken = await take('b');
  expect(taken).toMatchObject({ epoch: 3, sends: null });
  expect(taken?.quietMs).toBeGreaterThanOrEqual(3_000);
  expect(taken?.quietMs).toBeLessThan(11_000);
  // An answer that was lost is the same when asked for again.
  expect((await take('b'))?.quietMs).toBeGreaterThanOrEqual(taken?.quietMs ?? 0);
  expect(await take('silent')).toBeUndefined();
});

test('an unknown holder does not count as silent, and the check for strays frees its lease', async () => {
  await node('b');
  await take('gone');
  expect(await take('b')).toBeUndefined();
  expect(await unknownHolders(db)).toEqual(['gone']);
  await freeAllLeased(db);
  expect(await take('b')).toMatchObject({ sends: null });
});

test('a node that leaves has no lease any more', async () => {
  await node('a');
  await node('b');
  await take('a');
  await leave(db, 'a');
  const taken = await take('b');
  expect(taken).toMatchObject({ sends: null });
  expect(taken?.quietMs).toBeLessThan(10_000);
});

test('a dropped lease is new for the next holder', async () => {
  await node('a');
  await take('a');
  await dropRateLeases(db, 'b', ['e']);
  expect(await database.query('select node_id from rate_leases')).toEqual([{ node_id: 'a' }]);
  await dropRateLeases(db, 'a', ['e']);
  expect((await take('a'))?.quietMs).toBeGreaterThan(86_400_000);
});

test('holders are notified of every waiting key, in notifications that fit', async () => {
  await node('a');
  await node('b');
  const listener = await db.dedicated();
  const notified: string[] = [];
  listener.on('notification', ({ payload }) => notified.push(payload ?? ''));
  await listener.query('listen posthorn_due');
  const endpointIds = Array.from({ length: 250 }, (_, n) => `01ENDPOINT${String(n).padStart(16, '0')}`);
  const requests = endpointIds.map((id) => ({
    endpointId: id,
    places: [{ projectId: '01PROJECT00000000000000000', key: asId<EndpointId>(id), lane: 1 }],
  }));
  expect(await takeRateLeases(db, 'a', requests)).toHaveLength(250);
  expect(await takeRateLeases(db, 'b', requests)).toEqual([]);
  const places = await eventually(async () => notified.flatMap(parseDue), { length: 250 });
  await listener.end();
  expect(new Set(places.map(({ key }) => key))).toEqual(new Set(endpointIds));
  expect(places[0]).toMatchObject({ projectId: '01PROJECT00000000000000000', lane: 1 });
  expect(notified).toHaveLength(3);
});
