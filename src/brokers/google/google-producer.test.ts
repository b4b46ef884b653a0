import { generateKeyPairSync } from 'node:crypto';
import { promisify } from 'node:util';
import { protos } from '@google-cloud/pubsub';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import { HttpClient } from '../../dispatch/client/http-client.ts';
import { googleDestination } from './google-producer.ts';

const { PublishRequest, PublishResponse } = protos.google.pubsub.v1;
type Request = protos.google.pubsub.v1.PublishRequest;
type Response = protos.google.pubsub.v1.IPublishResponse;

/** The keys of each request. A server of the test answers as the service does. */
const requests: string[][] = [];
let idLength = 1;
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
      answer(null, { messageIds: texts.map((text) => text.padEnd(idLength, '.')) });
    },
  },
);
const port = await promisify(server.bindAsync.bind(server))(
  '127.0.0.1:0',
  ServerCredentials.createInsecure(),
);
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

const message = (text: string, orderingKey: string | null) => ({
  destination,
  id: text,
  eventType: 'made.up',
  headers: [],
  body: Buffer.from(text),
  orderingKey,
  isAtMostOnce: false,
});

const http = new HttpClient({ egress: 'any' });
const producer = await googleDestination.open(destination, {
  egress: http.egress,
  secureContext: () => http.secureContext(),
  workload: {} as never,
  log: { debug: () => undefined } as never,
  signal: new AbortController().signal,
  lost: () => undefined,
});
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
  const ends = await Promise.allSettled(
    [message('1', null), long, message('3', null)].map((one) => producer.send(one)),
  );
  expect(ends.map(({ status: end }) => end)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(ends[1]).toMatchObject({
    reason: {
      code: 'message_unfit',
      message: 'The topic cannot carry the message: The value for the attribute long is too long.',
    },
  });
});
