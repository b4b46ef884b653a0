import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { BodyRoom } from '../../src/api/server/body-room.ts';
import { createServer } from '../../src/api/server.ts';
import { IdFactory } from '../../src/domain/ids.ts';
import { containing, eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { shared } from '../support/shared.ts';

/** Requests that Node or its parser refuses, as bytes on a socket. */
let held = Promise.withResolvers<string>();
const server = await shared(start());

async function start() {
  const app = await createServer({
    ids: new IdFactory(() => Date.now()),
    log: quietLog,
    maxBodyBytes: 1_000,
    bodies: new BodyRoom(1_000),
    jsonBounds: { depth: 100, names: 100_000 },
    trustedProxies: [],
  });
  app.get('/now', async () => 'now');
  app.get('/held', () => held.promise);
  app.post('/body', async ({ body }) => body);
  app.addHook('onRequest', async ({ url }, reply) => {
    if (url !== '/begun') return;
    reply.hijack();
    reply.raw.write('begun');
  });
  app.post('/begun', async () => '');
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  return { app, port: Number(url.port), stop: () => app.close() };
}

/** One connection, and all bytes that it received. */
class Connection {
  received = '';
  isClosed = false;
  readonly #socket: Socket;

  constructor() {
    this.#socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
    this.#socket.on('data', (text: string) => (this.received += text));
    this.#socket.on('close', () => (this.isClosed = true)).on('error', () => this.#socket.destroy());
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  async receives(text: string): Promise<void> {
    await eventually(async () => this.received, containing(text));
  }

  /** All answers, once the server has closed the connection. */
  async answers(): Promise<{ status: number; head: string; body: string }[]> {
    await eventually(async () => this.isClosed, true);
    return this.received.split(/(?=HTTP\/1\.1 \d)/).map((text) => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      return { status: Number(head.slice(9, 12)), head: head.toLowerCase(), body };
    });
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

const connections: Connection[] = [];
function open(): Connection {
  const connection = new Connection();
  connections.push(connection);
  return connection;
}
afterEach(() => {
  for (const connection of connections.splice(0)) connection.destroy();
  held = Promise.withResolvers<string>();
});

/** The same connection after an answered request. */
async function reused(): Promise<Connection> {
  const connection = open();
  connection.send('GET /now HTTP/1.1\r\nHost: x\r\n\r\n');
  await connection.receives('\r\n\r\nnow');
  connection.received = '';
  return connection;
}

const UNREADABLE: [name: string, text: string, status: number, code: string][] = [
  [
    'headers that are too large',
    `GET /now HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'headers of many packets',
    `GET /now HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(1_000_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  ['no HTTP at all', 'hello\r\n\r\n', 400, 'bad_request'],
  ['no Host', 'GET /now HTTP/1.1\r\n\r\n', 400, 'bad_request'],
  ['two Hosts', 'GET /now HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n', 400, 'bad_request'],
  ['two Hosts that agree', 'GET /nonsense HTTP/1.1\r\nHost: x\r\nHOST: x\r\n\r\n', 400, 'bad_request'],
  [
    'two lengths',
    'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
    'bad_request',
  ],
  [
    'an expectation that is unknown',
    'GET /now HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n',
    417,
    'expectation_failed',
  ],
  [
    'a chunk without a length',
    'POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    400,
    'bad_request',
  ],
];

describe.each([
  ['a new', async () => open()],
  ['a reused', reused],
])('on %s connection', (_name, connected) => {
  it.each(UNREADABLE)('a request with %s is answered with the envelope', async (_, text, status, code) => {
    const connection = await connected();
    connection.send(text);
    const answers = await connection.answers();
    expect(answers).toMatchObject([{ status }]);
    const { head, body } = answers[0]!;
    expect(head).toMatch(/\r\nx-request-id: [0-9a-z]{26}(\r|$)/);
    expect(head).toContain('\r\nconnection: close');
    expect(head).toContain("\r\ncontent-security-policy: sandbox; default-src 'none'");
    expect(head).toContain('\r\nx-content-type-options: nosniff');
    expect(JSON.parse(body)).toEqual({ status: false, message: expect.any(String), code });
  });
});

it('HTTP/1.0 needs no Host', async () => {
  const connection = open();
  connection.send('GET /now HTTP/1.0\r\n\r\n');
  expect(await connection.answers()).toMatchObject([{ status: 200, body: 'now' }]);
});

it('a path that cannot be decoded is answered with an id', async () => {
  const connection = open();
  connection.send('GET /% HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const [answer] = await connection.answers();
  expect(answer).toMatchObject({
    status: 404,
    head: expect.stringMatching(/\r\nx-request-id: [0-9a-z]{26}/),
  });
});

it('a body may be announced with Expect: 100-continue', async () => {
  const connection = open();
  const head = 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n';
  connection.send(`${head}Expect: 100-continue\r\n\r\n`);
  await connection.receives('100 Continue');
  connection.send('ok');
  expect(await connection.answers()).toMatchObject([{ status: 100 }, { status: 200, body: 'ok' }]);
});

it('the id of a request that has one comes back with the refusal of its Host', async () => {
  const connection = open();
  connection.send('GET /now HTTP/1.1\r\nX-Request-Id: own\r\n\r\n');
  const [answer] = await connection.answers();
  expect(answer?.head).toContain('\r\nx-request-id: own');
});

it('a response in flight is finished before an unreadable request after it is answered', async () => {
  const connection = open();
  connection.send('GET /held HTTP/1.1\r\nHost: x\r\n\r\nhello\r\n\r\n');
  // The answer on this connection shows that the server has read both.
  await reused();
  connection.send('more that cannot be read\r\n\r\n');
  await reused();
  expect(connection.received).toBe('');
  held.resolve('whole');
  expect(await connection.answers()).toMatchObject([{ status: 200, body: 'whole' }, { status: 400 }]);
});

it('a response that has begun is not followed by another one for the same request', async () => {
  const connection = open();
  connection.send('POST /begun HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  await connection.receives('begun');
  connection.send('zz\r\n');
  expect(await connection.answers()).toMatchObject([{ status: 200 }]);
});
