import { expect, test } from 'vitest';
import { quietLog } from '../../test/support/quiet-log.ts';
import { routingOf } from '../../test/support/samples/routing.ts';
import { asId } from '../domain/ids.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';
import { ConfigCache } from './config-cache.ts';

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
  let turns = 0;
  let isRead = false;
  const count = () => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const routing = await cache.refresh(asId('p'));
  isRead = true;
  expect(routing.endpoints.size).toBe(10_000);
  expect(turns).toBeGreaterThanOrEqual(40);
});
