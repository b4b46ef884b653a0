import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A relay to the test server that can be frozen: connections stay open and new ones are accepted, but no data
 * passes, as with a peer that vanished without closing. When it thaws, it passes on the buffered data. It can
 * also be cut off, or slow: then every answer is late, as from a server far away. Or it loses answers: the server has
 * done the work, and the client does not learn it.
 */
export interface DatabaseRelay {
  readonly port: number;
  urlOf(database: string): string;
  freeze(): void;
  thaw(): void;
  /** Ends every connection, and each new one at once, until it is mended. */
  cut(): void;
  mend(): void;
  slow(answerMs: number): void;
  /**
   * From now on the server's answer to a statement with this text is lost, and with it the connection, on so many
   * connections. Null: none is lost.
   */
  loseAnswersTo(text: string | null, times?: number): void;
  /**
   * Round trips from now on, of the connections that send one of these texts: requests after an answer. Answers must be
   * slow enough for what the client sends together to arrive together.
   */
  countTrips(...texts: string[]): () => number;
  /** Connections that the client closed while the relay was frozen. */
  readonly givenUp: number;
  close(): void;
}

export async function startDatabaseRelay(
  server: { host: string; port: number; user: string } = inject('postgres'),
): Promise<DatabaseRelay> {
  const sockets = new Set<Socket>();
  /** Data to pass on later, in order. */
  let kept: (() => void)[] = [];
  let isFrozen = false;
  let isCut = false;
  let givenUp = 0;
  let answerMs = 0;
  let lost: string | null = null;
  let losses = 0;
  let counted: string[] = [];
  let trips = 0;
  const pass = (work: () => void) => (isFrozen ? void kept.push(work) : work());
  const relay = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(join(server.host, `.s.PGSQL.${server.port}`));
    let isLost = false;
    let isCounted = false;
    let wasAnswered = true;
    const count = (request: Buffer | string) => {
      isCounted ||= counted.some((text) => request.includes(text));
      if (isCounted && wasAnswered) trips += 1;
      wasAnswered = false;
    };
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => from.destroy());
      from.on('data', (chunk) => {
        if (from === client && !isLost && lost !== null && losses > 0 && chunk.includes(lost)) {
          isLost = true;
          losses -= 1;
        }
        if (from === client) count(chunk);
        const write = () =>
          pass(() => {
            if (from === upstream) wasAnswered = true;
            to.write(chunk);
          });
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
    port,
    urlOf: (database) => `postgres://${server.user}@127.0.0.1:${port}/${database}`,
    freeze: () => {
      isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
      for (const work of kept) work();
      kept = [];
    },
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => {
      isCut = false;
    },
    slow: (ms) => {
      answerMs = ms;
    },
    loseAnswersTo: (text, times = Number.POSITIVE_INFINITY) => {
      lost = text;
      losses = times;
    },
    countTrips: (...texts) => {
      counted = texts;
      trips = 0;
      return () => trips;
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
