import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A way to the test server that can be frozen: connections stay open and new ones are taken, but nothing gets through,
 * as with a peer that vanished without closing. Thawed, it passes on what it kept. It can also be slow: then every
 * answer comes so much later, as from a server far away.
 * Or it loses answers: the server has done what was asked for, and the client does not learn of it.
 */
export interface DatabaseRelay {
  urlOf(database: string): string;
  freeze(): void;
  thaw(): void;
  slow(answerMs: number): void;
  /** From now on the server's answer to what holds this text is lost, and with it the connection; null: none is. */
  loseAnswersTo(text: string | null): void;
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
  let lost: string | null = null;
  const pass = (work: () => void) => (isFrozen ? void kept.push(work) : work());
  const relay = createServer((client) => {
    const upstream = connect(join(server.host, `.s.PGSQL.${server.port}`));
    let isLost = false;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => from.destroy());
      from.on('data', (chunk) => {
        if (from === client && lost !== null && chunk.includes(lost)) isLost = true;
        const write = () => pass(() => to.write(chunk));
        if (from === upstream && isLost) client.destroy();
        else if (from === client || answerMs === 0) write();
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
    loseAnswersTo: (text) => {
      lost = text;
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
