import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server of the tests that can be muted: what clients send is swallowed, and their connections stay open. */
export interface TcpRelay {
  readonly port: number;
  /** Connections of clients: all so far, and those that are open. */
  readonly accepted: number;
  readonly open: number;
  to(port: number): void;
  mute(): void;
  /** Answers of the server are swallowed. */
  loseAnswers(): void;
  unmute(): void;
  /** Ends every connection, and refuses new ones until there is a target again. */
  cut(): void;
  close(): void;
}

export async function startTcpRelay(): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  let target = 0;
  let swallowed: 'none' | 'requests' | 'answers' = 'none';
  let accepted = 0;
  let open = 0;
  const relay = createServer((client) => {
    accepted += 1;
    open += 1;
    client.on('close', () => {
      open -= 1;
    });
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => from.destroy());
      from.on('data', (chunk) => {
        if (swallowed !== (from === upstream ? 'answers' : 'requests')) to.write(chunk);
      });
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    port: (relay.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    get open() {
      return open;
    },
    to: (port) => {
      target = port;
    },
    mute: () => {
      swallowed = 'requests';
    },
    loseAnswers: () => {
      swallowed = 'answers';
    },
    unmute: () => {
      swallowed = 'none';
    },
    cut: () => {
      target = 1;
      for (const socket of sockets) socket.destroy();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}
