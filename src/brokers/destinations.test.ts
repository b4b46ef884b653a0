import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, expect, test } from 'vitest';
import { HttpClient } from '../dispatch/client/http-client.ts';
import type { Destination } from '../domain/config/destination.ts';
import { Destinations } from './destinations.ts';
import { WorkloadError } from './module/workload-access.ts';

/** A server of the test that answers as a queue of Amazon SQS does, when and how a test says. */
const answers: ((response: ServerResponse, ids: string[]) => void)[] = [];
const take = (response: ServerResponse, ids: string[]) =>
  response.end(JSON.stringify({ Successful: ids.map((Id) => ({ Id, MessageId: `m${Id}` })), Failed: [] }));
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { Entries: entries } = JSON.parse(await text(request)) as { Entries?: { Id: string }[] };
  response.setHeader('content-type', 'application/x-amz-json-1.0');
  if (entries === undefined) response.end(JSON.stringify({ QueueUrl: 'http://queue/1' }));
  else
    (answers.shift() ?? take)(
      response,
      entries.map(({ Id }) => Id),
    );
}
const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => server.close());

const open: Destinations[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

function destinations(options: object = {}, workload: object = {}): Destinations {
  const http = new HttpClient({ egress: 'any' });
  const log = { debug: () => undefined } as never;
  const made = new Destinations(
    { egress: http.egress, secureContext: () => http.secureContext(), workload: workload as never, log },
    options,
  );
  open.push(made);
  return made;
}

const queueOf = (access_key_id = 'id'): Destination => ({
  type: 'sqs',
  sqs: { queue_name: 'q', access_key_id, secret_key: 's', default_region: 'eu-west-1', endpoint },
});

const message = (destination: Destination, more: object = {}) => ({
  destination,
  projectId: 'a',
  id: 'an-id',
  eventType: 'made.up',
  headers: [['webhook-id', '1']] as const,
  body: Buffer.from('{}'),
  orderingKey: null,
  isAtMostOnce: false,
  cloudEvents: '' as const,
  timeoutMs: 30_000,
  ...more,
});

const sent = { kind: 'response', isConfirm: true };

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
  for (const destination of own)
    expect(await all.send(message(destination))).toMatchObject({
      kind: 'error',
      code: 'sign_in_refused',
      ours: true,
      message: said,
    });
  // They are not for a server that the owner of the endpoint chose.
  expect(await all.send(message({ type: 'sqs', sqs: { ...settings, endpoint } }))).toMatchObject({
    kind: 'error',
    message: 'The endpoint must be empty or a server of the cloud when credentials is workload.',
  });
});

test('one project has at most a quarter of the connections', async () => {
  const all = destinations({ maxLinks: 8 });
  const waiting = [held(), held()];
  const busy = ['k1', 'k2'].map((key) => all.send(message(queueOf(key))));
  const [first, second] = await Promise.all(waiting);
  expect(await all.send(message(queueOf('k3')))).toMatchObject({
    kind: 'error',
    code: 'local_resource',
    message: 'the project uses too many connections to brokers',
    ours: true,
  });
  expect(await all.send(message(queueOf('k3'), { projectId: 'b' }))).toMatchObject(sent);
  first?.();
  second?.();
  expect(await Promise.all(busy)).toMatchObject([sent, sent]);
  // An idle one of its own makes room.
  expect(await all.send(message(queueOf('k4')))).toMatchObject(sent);
  expect(all.size).toBe(3);
});
