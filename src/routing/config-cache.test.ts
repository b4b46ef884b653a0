import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { quietLog } from '../../test/support/quiet-log.ts';
import { routingOf } from '../../test/support/samples/routing.ts';
import { countTurns } from '../../test/support/suite/count-turns.ts';
import { asId } from '../domain/ids.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';
import { ConfigCache } from './config-cache.ts';
import { ConfigWatch } from './config-watch.ts';

test('a change of many endpoints leaves turns of the event loop to others', async () => {
  const { project, endpoints } = routingOf();
  const row = endpoints.get('e')?.row as EndpointRow;
  const rows = Array.from({ length: 10_000 }, (_, n) => ({ ...row, id: `endpoint ${n}` }));
  const cache = new ConfigCache({
    db: { query: async () => [] },
    projects: { find: async () => project },
    endpoints: { changedSince: async () => rows },
    sources: { changedSince: async () => [] },
    log: quietLog,
  } as unknown as ConstructorParameters<typeof ConfigCache>[0]);
  const { turns, result: routing } = await countTurns(() => cache.refresh(asId('p')));
  expect(routing.endpoints.size).toBe(10_000);
  expect(turns).toBeGreaterThanOrEqual(40);
});

/** A cache whose first read of the project has its old state, and ends when it is let go. */
function slowFirstRead() {
  const { project } = routingOf();
  const first = Promise.withResolvers<void>();
  let reads = 0;
  const find = async () => {
    reads += 1;
    if (reads > 1) return { ...project, version: 2 };
    await first.promise;
    return { ...project, version: 1 };
  };
  const db = {
    query: async () => [],
    hot: async () => [{ changed: [], atMs: 5 }],
    dedicated: async () => ({ on: () => {}, query: async () => {}, end: async () => {} }),
  };
  const none = { changedSince: async () => [] };
  const cache = new ConfigCache({
    db,
    projects: { find },
    endpoints: none,
    sources: none,
    log: quietLog,
  } as unknown as ConstructorParameters<typeof ConfigCache>[0]);
  return { cache, db, letGo: first.resolve };
}

test('a notice about a project that is read for the first time is followed by another read', async () => {
  const { cache, letGo } = slowFirstRead();
  const loading = cache.get(asId('p'));
  const noticed = cache.refreshQuietly(asId('p'));
  letGo();
  await Promise.all([loading, noticed]);
  expect(cache.peek(asId('p'))?.version).toBe(2);
});

test('a node has seen the config of a look once a project that was read meanwhile is read again', async () => {
  const { cache, db, letGo } = slowFirstRead();
  const unused = () => {};
  const watch = new ConfigWatch({
    db,
    cache,
    log: quietLog,
    onNotice: unused,
    onDue: unused,
    onJobs: unused,
    onLook: () => looked.resolve(),
  } as unknown as ConstructorParameters<typeof ConfigWatch>[0]);
  const looked = Promise.withResolvers<void>();
  const loading = cache.get(asId('p'));
  await watch.start();
  await looked.promise;
  await sleep(10);
  expect(cache.seenAtMs).toBeNull();
  letGo();
  await loading;
  await watch.stop();
  await expect.poll(() => cache.seenAtMs).toBe(5);
  expect(cache.peek(asId('p'))?.version).toBe(2);
});

test('a project that comes back to a cell is compiled from all of its rows', async () => {
  const { project } = routingOf();
  const states = ['moved', null, null] as const;
  let reads = 0;
  const since: number[] = [];
  const cache = new ConfigCache({
    db: { query: async () => [] },
    projects: {
      find: async () => {
        reads += 1;
        return { ...project, version: reads, cell_state: states[reads - 1] };
      },
    },
    endpoints: {
      changedSince: async (_db: unknown, _id: string, version: number) => {
        since.push(version);
        return [];
      },
    },
    sources: { changedSince: async () => [] },
    log: quietLog,
  } as unknown as ConstructorParameters<typeof ConfigCache>[0]);
  for (let n = 0; n < states.length; n += 1) await cache.load(asId('p'));
  expect(since).toEqual([0, 0, 2]);
});
