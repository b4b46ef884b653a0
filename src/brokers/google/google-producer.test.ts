import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { promisify } from 'node:util';
import { protos } from '@google-cloud/pubsub';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import { messageOut, networkOf } from '../../../test/support/brokers/outgoing-message.ts';
import type { Workload } from '../module/workload.ts';
import { googleDestination } from './google-producer.ts';

const { PublishRequest, PublishResponse } = protos.google.pubsub.v1;
type Request = protos.google.pubsub.v1.PublishRequest;
type Response = protos.google.pubsub.v1.IPublishResponse;

/** The keys of each request. A server of the test answers as the service does. */
const requests: string[][] = [];
let idLength = 1;
let idCount = Number.POSITIVE_INFINITY;
const server = new Server();
server.addService(
  {
    publish: {
      path: '/google.pubsub.v1.Publisher/Publish',
      requestStream: false,
      responseStream: false,
      requestSerialize: (one: Request) => Buffer.from(PublishRequest.encode(one).finish()),
      requestDeserialize: (bytes: Buffer) => PublishRequest.decode(bytes),
      responseSerialize: (one: Response) => Buffer.from(PublishResponse.encode(one).finish()),
      responseDeserialize: (bytes: Buffer) => PublishResponse.decode(bytes),
    },
  },
  {
    publish: ({ request }: ServerUnaryCall<Request, Response>, answer: sendUnaryData<Response>) => {
      const texts = request.messages.map(({ data }) => Buffer.from(data as Uint8Array).toString());
      requests.push(request.messages.map(({ orderingKey }) => orderingKey ?? ''));
      if (request.messages.some(({ attributes }) => (attributes?.['long'] ?? '').length > 1_024)) {
        const details = 'The value for the attribute long is too long.';
        return answer({ code: status.INVALID_ARGUMENT, details });
      }
      if (request.messages.some(({ attributes }) => attributes?.['large'] !== undefined)) {
        const details = 'The value for message is too large. You passed 10000001 in the request.';
        return answer({ code: status.INVALID_ARGUMENT, details });
      }
      answer(null, { messageIds: texts.slice(0, idCount).map((text) => text.padEnd(idLength, '.')) });
    },
  },
);
const certificate = (name: string) =>
  readFileSync(new URL(`../../../test/support/certificates/${name}`, import.meta.url));
const listen = promisify(server.bindAsync.bind(server));
const port = await listen('127.0.0.1:0', ServerCredentials.createInsecure());
const pair = { private_key: certificate('endpoint.key'), cert_chain: certificate('endpoint.pem') };
const securePort = await listen('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]));
afterAll(() => server.forceShutdown());

const private_key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
const account = { client_email: 'a@example.org', private_key, type: 'service_account' };
const destination = {
  type: 'google',
  google: {
    project_id: 'p',
    topic_id: 't',
    service_account: Buffer.from(JSON.stringify(account)).toString('base64'),
    endpoint: `http://127.0.0.1:${port}`,
  },
} as const;

const message = (text: string, orderingKey: string | null) =>
  messageOut(destination, { id: text, body: Buffer.from(text), orderingKey });

const producer = await googleDestination.open(destination, networkOf());
afterAll(() => producer.close());

test('a request has messages of one ordering key, and each message gets its own id', async () => {
  const all = [message('1', 'a'), message('2', 'b'), message('3', 'a'), message('4', null)];
  const receipts = await Promise.all(all.map((one) => producer.send(one)));
  expect(receipts.map(({ facts }) => facts['message-id'])).toEqual(['1', '2', '3', '4']);
  expect(requests.map((keys) => keys.join()).toSorted()).toEqual(['', 'a,a', 'b']);
});

test('an answer that is too large is not read', async () => {
  idLength = 5 * 1024 * 1024;
  await expect(producer.send(message('1', null))).rejects.toThrow();
  idLength = 1;
  expect((await producer.send(message('1', null))).facts).toEqual({ 'message-id': '1' });
});

test('a message that the topic can never carry fails alone, with that reason', async () => {
  const long = { ...message('2', null), headers: [['long', 'x'.repeat(2_000)]] as const };
  requests.length = 0;
  const ends = await Promise.allSettled(
    [message('1', null), long, message('3', null), message('4', null)].map((one) => producer.send(one)),
  );
  expect(ends.map(({ status: end }) => end)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  // Both halves are under way at once: in turn, a few bad messages among a thousand take more than the time of all.
  expect(requests.map(({ length }) => length)).toEqual([4, 2, 2, 1, 1]);
  expect(ends[1]).toMatchObject({
    reason: {
      code: 'message_unfit',
      message: 'The topic cannot carry the message: The value for the attribute long is too long.',
    },
  });
});

test('an answer that has no id for each message is no confirm', async () => {
  idCount = 1;
  const ends = await Promise.allSettled(
    [message('1', null), message('2', null)].map((one) => producer.send(one)),
  );
  idCount = Number.POSITIVE_INFINITY;
  const reason = {
    code: 'broker_refused',
    message: 'The broker did not answer with an id for each message.',
  };
  expect(ends).toMatchObject([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
});

test('a message that is too large for the topic fails alone, for good', async () => {
  const large = { ...message('2', null), headers: [['large', 'x']] as const };
  const ends = await Promise.allSettled([message('1', null), large].map((one) => producer.send(one)));
  expect(ends).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'message_too_large' } }]);
});

test('a message whose time is over before there is a token is not sent', async () => {
  const [asked, token] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const workload = {
    endpoint: () => `https://127.0.0.1:${securePort}`,
    googleToken: () => {
      asked.resolve();
      return token.promise;
    },
  } as unknown as Workload;
  const google = {
    ...destination.google,
    credentials: 'workload',
    service_account: '',
    endpoint: '',
  } as const;
  const secureContext = () => createSecureContext({ ca: certificate('ca.pem') });
  const own = await googleDestination.open(
    { type: 'google', google },
    networkOf({ workload, secureContext }),
  );
  const begun: string[] = [];
  const limitOf = (text: string) => ({
    isOver: false,
    begin: () => void begun.push(text),
    whenOver: () => undefined,
  });
  const late = limitOf('late');
  const ends = [
    own.send({ ...message('late', null), limit: late }),
    own.send({ ...message('open', null), limit: limitOf('open') }),
  ];
  await asked.promise;
  late.isOver = true;
  token.resolve('t');
  expect(await Promise.allSettled(ends)).toMatchObject([
    { status: 'rejected' },
    { value: { facts: { 'message-id': 'open' } } },
  ]);
  expect(begun).toEqual(['open']);
  await own.close();
});
