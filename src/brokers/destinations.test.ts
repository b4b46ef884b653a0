import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, expect, test } from 'vitest';
import { outgoing as message, networkOf } from '../../test/support/brokers/outgoing-message.ts';
import { listenTcp } from '../../test/support/servers/loopback-server.ts';
import type { Destination } from '../domain/config/destination.ts';
import { Destinations } from './destinations.ts';
import { WorkloadError } from './module/workload.ts';

/** A server of the test that answers as a queue of Amazon SQS does, when and how a test says. */
const answers: ((response: ServerResponse, ids: string[], bodies: string[]) => void)[] = [];
/** The bodies of each request. */
const requests: string[][] = [];
const take = (response: ServerResponse, ids: string[]) =>
  response.end(JSON.stringify({ Successful: ids.map((Id) => ({ Id, MessageId: `m${Id}` })), Failed: [] }));
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { Entries: entries } = JSON.parse(await text(request)) as {
    Entries?: { Id: string; MessageBody: string }[];
  };
  response.setHeader('content-type', 'application/x-amz-json-1.0');
  if (entries === undefined) return void response.end(JSON.stringify({ QueueUrl: 'http://queue/1' }));
  const bodies = entries.map(({ MessageBody }) => MessageBody);
  requests.push(bodies);
  (answers.shift() ?? usual)(
    response,
    entries.map(({ Id }) => Id),
    bodies,
  );
}
let usual: (typeof answers)[number] = take;
/** Refuses a request as a whole. */
const refuse = (response: ServerResponse, name: string) =>
  response.writeHead(400).end(JSON.stringify({ __type: `com.amazonaws.sqs#${name}`, message: 'why' }));
const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => server.close());

const open: Destinations[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  requests.length = 0;
  usual = take;
});

function destinations(options: object = {}, workload: object = {}): Destinations {
  const made = new Destinations(networkOf({ workload: workload as never }), options);
  open.push(made);
  return made;
}

const queueOf = (access_key_id = 'id'): Destination => ({
  type: 'sqs',
  sqs: { queue_name: 'q', access_key_id, secret_key: 's', default_region: 'eu-west-1', endpoint },
});

const AT_ONCE = 8;
const sent = { kind: 'response', isConfirm: true };
const atMostOnce = { isAtMostOnce: true };

/** The next request is held. Resolves with a function that has it taken. */
function held(): Promise<() => void> {
  return new Promise((resolve) => {
    answers.push((response, ids) => resolve(() => take(response, ids)));
  });
}

test('a message that gets no answer in time does not end the others on its connection', async () => {
  const all = destinations();
  expect(await all.send(message(queueOf()))).toMatchObject(sent);
  const [first, second] = [held(), held()];
  const late = all.send(message(queueOf(), { timeoutMs: 300 }));
  await first;
  const other = all.send(message(queueOf()));
  const answer = await second;
  expect(await late).toMatchObject({ kind: 'error', code: 'timeout' });
  // The next message has a connection of its own.
  expect(await all.send(message(queueOf()))).toMatchObject(sent);
  expect(all.size).toBe(2);
  answer();
  expect(await other).toMatchObject(sent);
  expect(all.size).toBe(1);
});

test('an answer that is too large ends its message, and long words of a broker are cut', async () => {
  const all = destinations();
  answers.push((response) => {
    response.on('error', () => undefined);
    response.write(`{"Successful":[{"Id":"0","MessageId":"m0"}],"Failed":[],"More":"`);
    response.end(`${'x'.repeat(2 * 1024 * 1024)}"}`);
  });
  expect(await all.send(message(queueOf()))).toMatchObject({
    kind: 'error',
    code: 'broker_refused',
    message: 'The answer of the broker is too large.',
  });
  answers.push((response) =>
    response.end(JSON.stringify({ Successful: [], Failed: [{ Id: '0', Message: 'x'.repeat(100_000) }] })),
  );
  const refused = await all.send(message(queueOf()));
  expect(refused).toMatchObject({ kind: 'error', code: 'broker_refused' });
  expect(JSON.stringify(refused).length).toBeLessThan(1_000);
  expect(await all.send(message(queueOf()))).toMatchObject(sent);
});

test('credentials of the machine that cannot be had are our fault', async () => {
  const said = 'The credentials of this machine cannot be had: why.';
  const workload = { aws: () => Promise.reject(new WorkloadError(said)), endpoint: () => endpoint };
  const all = destinations({}, workload);
  const key = { access_key_id: '', secret_key: '', default_region: 'eu-west-1', endpoint: '' };
  const settings = { ...key, queue_name: 'q', bucket: 'b', prefix: '', credentials: 'workload' } as const;
  const own = [
    { type: 'sqs', sqs: settings },
    { type: 's3', s3: settings },
  ] as const;
  for (const destination of own) {
    const outcome = await all.send(message(destination, atMostOnce));
    expect(outcome).toMatchObject({
      code: 'sign_in_refused',
      ours: true,
      message: said,
      mayHaveArrived: false,
    });
  }
  // They are not for a server that the owner of the endpoint chose.
  expect(await all.send(message({ type: 'sqs', sqs: { ...settings, endpoint } }))).toMatchObject({
    kind: 'error',
    message: 'The endpoint must be empty or a server of the cloud when credentials is workload.',
  });
});

test('a project leaves connections to others, and an idle one makes room for another', async () => {
  const all = destinations({ maxLinks: 4 });
  const waiting = [held(), held(), held()];
  const busy = ['k1', 'k2', 'k3'].map((key) => all.send(message(queueOf(key))));
  const take = await Promise.all(waiting);
  expect(await all.send(message(queueOf('k4')))).toMatchObject({
    kind: 'error',
    code: 'local_resource',
    message: 'too many connections to brokers are in use',
    ours: true,
  });
  expect(await all.send(message(queueOf('k4'), { projectId: 'b' }))).toMatchObject(sent);
  for (const one of take) one();
  expect(await Promise.all(busy)).toMatchObject([sent, sent, sent]);
  for (const key of ['k5', 'k6', 'k7', 'k8'])
    expect(await all.send(message(queueOf(key)))).toMatchObject(sent);
  expect(all.size).toBe(4);
});

test('each message of a request has its own answer', async () => {
  const all = destinations();
  await all.send(message(queueOf()));
  answers.push((response, [first, second, third]) =>
    response.end(
      JSON.stringify({
        Successful: [{ Id: third, MessageId: 'm3' }],
        Failed: [
          { Id: first, Code: 'InternalError', Message: 'try again' },
          { Id: second, Code: 'InvalidMessageContents', Message: 'no such character' },
        ],
      }),
    ),
  );
  const ends = await Promise.all(
    ['1', '2', '3', '4'].map((n) => all.send(message(queueOf(), { body: Buffer.from(n) }))),
  );
  expect(requests.at(-1)).toEqual(['1', '2', '3', '4']);
  const said = 'The queue did not take the message:';
  expect(ends).toMatchObject([
    { code: 'broker_refused', message: `${said} InternalError try again.` },
    { code: 'message_unfit', message: `${said} InvalidMessageContents no such character.` },
    { ...sent, headers: { 'message-id': ['m3'] } },
    { code: 'broker_refused', message: `${said} it gave no reason.` },
  ]);
});

test.each([
  ['InvalidMessageContents', 'message_unfit'],
  ['InvalidParameterValue', 'broker_refused'],
  ['BatchRequestTooLong', 'message_too_large'],
])(
  'a request that is refused as a whole with %s is sent in halves, down to the message',
  async (name, code) => {
    const all = destinations();
    await all.send(message(queueOf()));
    const bad = ['1', '8'];
    usual = (response, ids, bodies) =>
      bad.some((one) => bodies.includes(one)) ? refuse(response, name) : take(response, ids);
    const numbers = ['1', '2', '3', '4', '5', '6', '7', '8'];
    const ends = await Promise.all(
      numbers.map((n) => all.send(message(queueOf(), { body: Buffer.from(n) }))),
    );
    expect(ends.map((end) => (end.kind === 'error' ? end.code : 'sent'))).toEqual(
      numbers.map((n) => (bad.includes(n) ? code : 'sent')),
    );
    // One after the other: a half that waits for a connection would count as under way.
    expect(requests.slice(1).map(({ length }) => length)).toEqual([8, 4, 2, 1, 1, 2, 4, 2, 2, 1, 1]);
  },
);

test('halves have the connection of their request', async () => {
  let connections = 0;
  const count = () => void connections++;
  server.on('connection', count);
  const all = destinations();
  usual = (response, ids) =>
    ids.length > 1 ? refuse(response, 'InvalidMessageContents') : take(response, ids);
  const ends = Array.from({ length: 80 }, () => all.send(message(queueOf())));
  expect(await Promise.all(ends)).toMatchObject(ends.map(() => sent));
  server.off('connection', count);
  expect(connections).toBe(AT_ONCE);
});

test('words of a gateway, or of a broken connection, are about no message', async () => {
  const all = destinations();
  await all.send(message(queueOf()));
  usual = (response) => response.writeHead(408).end('{"message":"The upstream took too long to respond."}');
  expect(await Promise.all([all.send(message(queueOf())), all.send(message(queueOf()))])).toMatchObject([
    { code: 'broker_refused' },
    { code: 'broker_refused' },
  ]);
  expect(requests).toHaveLength(2);
  // Any other web server.
  usual = (response) => response.writeHead(404).end();
  expect(await all.send(message(queueOf()))).toMatchObject({
    code: 'broker_refused',
    message: 'The broker answered: status 404',
  });
  const { port, close } = await listenTcp((socket) => void socket.write(Buffer.from('160303ffff', 'hex')));
  const { sqs } = queueOf() as { sqs: object };
  const secure = { type: 'sqs', sqs: { ...sqs, endpoint: `https://127.0.0.1:${port}` } } as never;
  expect(await all.send(message(secure))).toMatchObject({ code: 'tls_failed' });
  await close();
});

test.each(['timeout', 'aborted'])(
  'a message whose half waits for the other one is not under way: %s',
  async (code) => {
    const all = destinations();
    await all.send(message(queueOf()));
    answers.push((response) => refuse(response, 'InvalidMessageContents'));
    const first = held();
    const stopped = new AbortController();
    const limits = code === 'timeout' ? { timeoutMs: 300 } : {};
    const ends = [
      all.send(message(queueOf(), atMostOnce)),
      all.send(message(queueOf(), { ...atMostOnce, ...limits }), stopped.signal),
    ];
    const release = await first;
    if (code === 'aborted') stopped.abort();
    expect(await ends[1]).toMatchObject({ code, mayHaveArrived: false });
    release();
    expect(await ends[0]).toMatchObject(sent);
  },
);

test('a message whose time is over is not sent in a half of its request', async () => {
  const all = destinations();
  await all.send(message(queueOf()));
  const held = Promise.withResolvers<void>();
  answers.push((response) => void held.promise.then(() => refuse(response, 'InvalidMessageContents')));
  const limits = { late: 50, ok: 30_000, more: 30_000 };
  const ends = Object.entries(limits).map(([body, timeoutMs]) =>
    all.send(message(queueOf(), { body: Buffer.from(body), timeoutMs })),
  );
  expect(await ends[0]).toMatchObject({ code: 'timeout' });
  held.resolve();
  expect(await Promise.all(ends.slice(1))).toMatchObject([sent, sent]);
  expect(requests.slice(1).map((bodies) => bodies.toSorted())).toEqual([
    ['late', 'more', 'ok'],
    ['ok'],
    ['more'],
  ]);
});

test('a message whose time is over while it waits for its request is not sent', async () => {
  const all = destinations();
  await all.send(message(queueOf()));
  const first = Array.from({ length: AT_ONCE }, () => held());
  const busy = Array.from({ length: 80 }, () => all.send(message(queueOf(), { body: Buffer.from('busy') })));
  const release = await Promise.all(first);
  expect(await all.send(message(queueOf(), { body: Buffer.from('late'), timeoutMs: 50 }))).toMatchObject({
    code: 'timeout',
  });
  for (const one of release) one();
  expect(await Promise.all(busy)).toMatchObject(busy.map(() => sent));
  expect(requests.flat()).not.toContain('late');
});

test('what a broker says of a message is stored in part, and without zero characters', async () => {
  const all = destinations();
  const id = `m\0${'x'.repeat(300)}`;
  answers.push((response) => response.end(JSON.stringify({ Successful: [{ Id: '0', MessageId: id }] })));
  expect(await all.send(message(queueOf()))).toMatchObject({
    headers: { 'message-id': [`m${'x'.repeat(254)}`] },
  });
  const Message = 'a\0b \ud83d';
  answers.push((response) => response.end(JSON.stringify({ Failed: [{ Id: '0', Code: 'X', Message }] })));
  expect(await all.send(message(queueOf()))).toMatchObject({
    message: 'The queue did not take the message: X ab \ufffd.',
  });
});

test('a message that waited for its turn takes the connection that there is then', async () => {
  const all = destinations();
  await all.send(message(queueOf()));
  const again = Promise.withResolvers<() => void>();
  let isOpen = false;
  const turn = {
    take: () => (isOpen ? ('now' as const) : ('later' as const)),
    wait: (call: () => void) => {
      again.resolve(call);
      return () => undefined;
    },
  };
  const waiting = all.send(message(queueOf(), { turn }));
  const call = await again.promise;
  // The connection is left for a message without an answer.
  const lost = held();
  expect(await all.send(message(queueOf(), { timeoutMs: 50 }))).toMatchObject({ code: 'timeout' });
  (await lost)();
  expect(all.size).toBe(0);
  isOpen = true;
  call();
  expect(await waiting).toMatchObject(sent);
});

test('a server that the environment names for Amazon is for credentials of the machine alone', async () => {
  process.env['AWS_ENDPOINT_URL_SQS'] = endpoint;
  try {
    const egress = { addresses: async () => ['127.0.0.1'] } as never;
    const all = new Destinations(networkOf({ egress }));
    open.push(all);
    const own = { ...(queueOf() as { sqs: object }).sqs, endpoint: '' };
    expect(await all.send(message({ type: 'sqs', sqs: own } as never))).toMatchObject({ kind: 'error' });
    expect(requests).toEqual([]);
  } finally {
    delete process.env['AWS_ENDPOINT_URL_SQS'];
  }
});

test('a message may have arrived once its request was under way, and not before', async () => {
  const all = destinations();
  await all.send(message(queueOf()));
  const first = Array.from({ length: AT_ONCE }, () => held());
  const busy = Array.from({ length: 80 }, () => all.send(message(queueOf(), { body: Buffer.from('busy') })));
  const release = await Promise.all(first);
  const stop = new AbortController();
  const waits = all.send(message(queueOf(), atMostOnce), stop.signal);
  stop.abort();
  expect(await waits).toMatchObject({ code: 'aborted', ours: true, mayHaveArrived: false });
  for (const one of release) one();
  await Promise.all(busy);
  const [asked, stopped] = [held(), new AbortController()];
  const begun = all.send(message(queueOf(), atMostOnce), stopped.signal);
  await asked;
  stopped.abort();
  expect(await begun).toMatchObject({ code: 'aborted', ours: true, mayHaveArrived: true });
  (await asked)();
});

test.each([
  ['sqs', false],
  ['s3', undefined],
])('a connection to %s that is refused sent nothing', async (type, mayHaveArrived) => {
  const own = { ...(queueOf() as { sqs: object }).sqs, bucket: 'b', prefix: '' };
  const to = { type, [type]: { ...own, endpoint: 'http://127.0.0.1:1' } } as never;
  const refused = await destinations().send(message(to, atMostOnce));
  expect(refused).toMatchObject({ code: 'connection_refused' });
  expect((refused as { mayHaveArrived?: boolean }).mayHaveArrived).toBe(mayHaveArrived);
});
