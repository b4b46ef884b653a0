import type { ConnectionPool } from '@platformatic/kafka';
import { expect, test } from 'vitest';
import { guardPool } from './guard-pool.ts';

const egress = { addresses: async (host: string) => [host.replace('broker-', '127.0.0.')] } as never;

/** A pool that opens every connection that it is asked for. */
function pool(isSecure = false) {
  const open = new Map<string, object>();
  const broken: Error[] = [];
  const made: ConnectionPool = {
    get: ({ host }: { host: string }, callback: (error: Error | null, connection?: object) => void) => {
      open.set(host, {});
      callback(null, {});
    },
    has: ({ host }: { host: string }) => open.has(host),
    getEstablishedConnection: ({ host }: { host: string }) => open.get(host),
    [Symbol.iterator]: () => open.entries(),
    on: () => made,
  } as unknown as ConnectionPool;
  guardPool(made, { egress, isSecure, broken: (error) => broken.push(error) });
  const get = (host: string) =>
    new Promise<Error | null>((resolve) => made.get({ host, port: 1 }, resolve as never));
  return { open, broken, made, get };
}

test('a client has connections to at most 100 brokers, whatever is advertised', async () => {
  const { open, get } = pool();
  const ends = await Promise.all(Array.from({ length: 130 }, (_, n) => get(`broker-${n}`)));
  expect(open.size).toBe(100);
  expect(ends.filter((end) => end === null)).toHaveLength(100);
  expect(ends.at(-1)).toMatchObject({ message: 'More than 100 brokers lead the partitions.' });
  // Open connections are used.
  expect(await get('broker-7')).toBe(null);
});

test('a connection goes to the checked address, with TLS by its name', async () => {
  const [plain, secure] = [pool(), pool(true)];
  await plain.get('broker-1');
  await secure.get('broker-1');
  expect([...plain.open.keys(), ...secure.open.keys()]).toEqual(['127.0.0.1', 'broker-1']);
});

test('an exception of the client is reported, and ends no process', async () => {
  const { broken, made } = pool();
  const thrown = new Error('of the client');
  await new Promise<void>((resolve) => {
    made.get({ host: 'broker-1', port: 1 }, () => {
      setImmediate(resolve);
      throw thrown;
    });
  });
  expect(broken).toEqual([thrown]);
});
