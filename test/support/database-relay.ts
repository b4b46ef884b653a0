import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A way to the test server that can be frozen: connections stay open and new ones are taken, but nothing gets through,
 * as with a peer that vanished without closing. Thawed, it passes on what it kept. It can also be slow: then every
 * answer comes so much later, as from a server far away.
 */
export interface DatabaseRelay {
  urlOf(database: string): string;
  freeze(): void;
  thaw(): void;
  slow(answerMs: number): void;
  /** Connections that the client closed while the relay was frozen. */
  readonly givenUp: number;
  close(): void;
}

export async function startDatabaseRelay(): Promise<DatabaseRelay> {
  const server = inject('postgres');
  const sockets = new Set<Socket>();
  /** What is to get through once it may, in order. */
  let kept: (() => void)[] = [];
  let isFrozen = false;
  let givenUp = 0;
  let answerMs = 0;
  const pass = (work: () => void) => (isFrozen ? void kept.push(work) : work());
  const relay = createServer((client) => {
    const upstream = connect(join(server.host, `.s.PGSQL.${server.port}`));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => from.destroy());
      from.on('data', (chunk) => {
        const write = () => pass(() => to.write(chunk));
        if (from === client || answerMs === 0) write();
        else setTimeout(write, answerMs);
      });
      from.on('close', () => {
        sockets.delete(from);
        pass(() => to.destroy());
      });
    }
    client.on('close', () => {
      if (isFrozen) givenUp += 1;
    });
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const { port } = relay.address() as AddressInfo;
  return {
    urlOf: (database) => `postgres://${server.user}@127.0.0.1:${port}/${database}`,
    freeze: () => {
      isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
      for (const work of kept) work();
      kept = [];
    },
    slow: (ms) => {
      answerMs = ms;
    },
    get givenUp() {
      return givenUp;
    },
    close: () => {
      isFrozen = false;
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}
