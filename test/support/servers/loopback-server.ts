import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';

/** Servers on a free loopback port that count their connections and can be closed for good. */

export interface LoopbackServer {
  readonly port: number;
  /** Connections accepted so far. */
  connections(): number;
  /** Sockets open now. */
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

export async function listen(server: Server, host = '127.0.0.1'): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    sockets,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export function listenHttp(handler: RequestListener): Promise<LoopbackServer> {
  return listen(createServer(handler));
}

export function listenTcp(handler: (socket: Socket) => void): Promise<LoopbackServer> {
  return listen(createTcpServer(handler));
}
