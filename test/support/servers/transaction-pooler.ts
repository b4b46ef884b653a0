import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * A pooler in front of the test server that gives each transaction another session: it takes every client in by itself,
 * and hands its messages to a free session until the server says that no transaction is open.
 */
export interface TransactionPooler {
  urlOf(database: string): string;
  close(): void;
}

interface Session {
  socket: Socket;
  /** The client that has it. Undefined: it is free. */
  client: Socket | undefined;
}

/** `next`: the session that was free the longest. `last`: the one that came free last. */
export type Choice = 'next' | 'last';

const WELCOME = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('S', Buffer.from('client_encoding\0UTF8\0')),
  message('K', Buffer.alloc(8)),
  message('Z', Buffer.from('I')),
]);

export async function startTransactionPooler(choice: Choice): Promise<TransactionPooler> {
  const { user } = inject('postgres');
  const sockets = new Set<Socket>();
  const free: Session[] = [];
  const holders = new Map<Socket, Session>();
  const take = async (database: string): Promise<Session> =>
    (choice === 'next' ? free.shift() : free.pop()) ?? (await openSession(database));

  async function openSession(database: string): Promise<Session> {
    const { host, port } = inject('postgres');
    const socket = kept(connect(join(host, `.s.PGSQL.${port}`)));
    const parameters = Buffer.from(`user\0${user}\0database\0${database}\0\0`);
    socket.write(framed(Buffer.from([0, 3, 0, 0]), parameters));
    const session: Session = { socket, client: undefined };
    const opened = Promise.withResolvers<void>();
    let isOpen = false;
    eachMessage(socket, true, (type, bytes) => {
      if (isOpen) session.client?.write(bytes);
      if (type !== 'Z') return;
      isOpen = true;
      opened.resolve();
      if (bytes.at(-1) !== 'I'.charCodeAt(0) || session.client === undefined) return;
      holders.delete(session.client);
      session.client = undefined;
      free.push(session);
    });
    await opened.promise;
    return session;
  }

  function kept(socket: Socket): Socket {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  }

  const server = createServer((client) => {
    kept(client);
    let database = '';
    let passing = Promise.resolve();
    eachMessage(client, false, (type, bytes) => {
      if (type === '') {
        [, database = ''] = /\0database\0([^\0]*)/.exec(bytes.toString()) ?? [];
        client.write(WELCOME);
      } else if (type === 'X') client.end();
      else
        passing = passing.then(async () => {
          const session = holders.get(client) ?? (await take(database));
          session.client = client;
          holders.set(client, session);
          session.socket.write(bytes);
        });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (database) => `postgres://${user}@127.0.0.1:${port}/${database}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Each message of the server has a type, and each of a client but the first. */
function eachMessage(socket: Socket, hasType: boolean, take: (type: string, bytes: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  let head = hasType ? 1 : 0;
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= head + 4) {
      const end = head + pending.readInt32BE(head);
      if (pending.length < end) return;
      const bytes = pending.subarray(0, end);
      pending = pending.subarray(end);
      const type = bytes.toString('latin1', 0, head);
      head = 1;
      take(type, bytes);
    }
  });
}

function framed(...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([length, body]);
}

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), framed(body)]);
}
