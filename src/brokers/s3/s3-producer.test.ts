import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { messageOut, networkOf } from '../../../test/support/brokers/outgoing-message.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { HttpClient } from '../../dispatch/client/http-client.ts';
import { type Destination, destinationUrl, type S3Destination } from '../../domain/config/destination.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerMessageOut } from '../module/producer.ts';
import { objectKey } from './object-key.ts';
import { s3Address } from './s3-address.ts';
import { s3Destination } from './s3-producer.ts';

/** A server of the test, for the answers of Amazon that the real server of the other tests does not give. */
interface Taken {
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}
const taken: Taken[] = [];
const answers: ((response: ServerResponse) => void)[] = [];
const store = (response: ServerResponse) => response.writeHead(200, { etag: '"e"' }).end();
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  taken.push({ path: request.url ?? '', headers: request.headers, body: await buffer(request) });
  (answers.shift() ?? store)(response);
}
const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const settings: S3Destination = {
  bucket: 'bucket',
  prefix: 'p/',
  access_key_id: 'id',
  secret_key: 'secret',
  default_region: 'eu-west-1',
  endpoint,
};
const destination: Destination = { type: 's3', s3: settings };
const producer = await s3Destination.open(destination, networkOf());
afterAll(async () => {
  await producer.close();
  server.close();
});

const ID = '01K00000000000000000000000';
const message = (more: Partial<BrokerMessageOut> = {}): BrokerMessageOut =>
  messageOut(destination, { id: ID, body: Buffer.from('{"n":1}\n'), ...more });
const failed = async (respond: (response: ServerResponse) => void): Promise<[string, string]> => {
  answers.push(respond);
  const error: unknown = await producer.send(message()).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BrokerError);
  const { code, message: text } = error as BrokerError;
  return [code, text];
};
const says =
  (status: number, code: string, more = '', headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    response
      .writeHead(status, headers)
      .end(`<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>m</Message>${more}</Error>`);

test('a message is one compressed object with its hash, and sent again it is the same object', async () => {
  const headers = [
    ['webhook-id', ID],
    ['webhook-signature', 'v1,abc'],
    ['cookie', 'hidden'],
  ] as const;
  const receipt = await producer.send(message({ headers }));
  await producer.send(message({ headers }));
  const [first, second] = taken.splice(0);
  const key = objectKey('p/', ID);
  expect(receipt).toEqual({ address: '127.0.0.1', facts: { object: key, etag: '"e"' } });
  expect(first?.path).toBe(`/bucket/${key}`);
  expect(second).toMatchObject({ path: first?.path, body: first?.body });
  const body = first?.body ?? Buffer.alloc(0);
  expect(gunzipSync(body).toString()).toBe('{"n":1}\n');
  const hash = createHash('sha256').update(body).digest();
  expect(first?.headers).toMatchObject({
    'content-type': 'application/gzip',
    'x-amz-checksum-sha256': hash.toString('base64'),
    'x-amz-content-sha256': hash.toString('hex'),
    'x-amz-meta-webhook-id': ID,
    'x-amz-meta-webhook-signature': 'v1,abc',
  });
  expect(JSON.stringify(first?.headers)).not.toContain('hidden');
  expect(first?.headers).not.toHaveProperty('content-encoding');
});

test('the bucket is added to the path of the server, and the address of the endpoint shows both', async () => {
  const there: Destination = { type: 's3', s3: { ...settings, endpoint: `${endpoint}/store/` } };
  const other = await s3Destination.open(there, networkOf());
  await other.send(message());
  await other.close();
  expect(taken.splice(0)[0]?.path).toBe(`/store/bucket/${objectKey('p/', ID)}`);
  expect(destinationUrl(there)).toBe(`${endpoint.replace('http', 's3')}/store/bucket/p/`);
});

test.each([
  [says(503, 'SlowDown'), 'broker_refused', 'The broker asks us to send more slowly.'],
  [says(429, ''), 'broker_refused', 'The broker asks us to send more slowly.'],
  [says(400, 'EntityTooLarge'), 'message_too_large', 'The message is larger than the broker takes.'],
  [says(400, 'ExpiredToken'), 'sign_in_refused', 'The access key has expired.'],
  [says(400, 'BadDigest'), 'broker_refused', 'The object was damaged on its way to the broker.'],
  [says(500, 'InternalError'), 'broker_refused', 'The broker answered: InternalError: m'],
  [says(204, ''), 'broker_refused', 'The broker answered: status 204'],
  [
    says(403, 'KMS.DisabledException'),
    'not_permitted',
    'The access key has no right to put objects into the bucket. The broker answered: KMS.DisabledException: m',
  ],
  [
    says(301, 'PermanentRedirect', '', { 'x-amz-bucket-region': 'us-west-2', location: `${endpoint}/other` }),
    'target_not_found',
    'The bucket is in the region us-west-2: set default_region to it.',
  ],
  [
    says(307, 'TemporaryRedirect', '<Endpoint>other.example.org</Endpoint>', {
      location: `${endpoint}/other`,
    }),
    'target_not_found',
    'The broker redirects to another address, which is not followed: check default_region and endpoint. It names other.example.org.',
  ],
  [
    says(400, 'AuthorizationHeaderMalformed', '<Region>eu-central-1</Region>'),
    'target_not_found',
    'The bucket is in the region eu-central-1: set default_region to it.',
  ],
  [
    (response: ServerResponse) => response.writeHead(200).end('<html>'),
    'broker_refused',
    'The server answered without an ETag: it does not speak the protocol of S3.',
  ],
  [
    (response: ServerResponse) =>
      response.writeHead(200, { etag: '"e"', 'x-amz-checksum-sha256': 'other' }).end(),
    'broker_refused',
    'The broker has stored something else than was sent.',
  ],
])('an answer other than a stored object is a failure, in plain words (%#)', async (respond, code, text) => {
  taken.length = 0;
  expect(await failed(respond)).toEqual([code, text]);
  // No redirect is followed.
  expect(taken).toHaveLength(1);
});

test('a clock that is off is corrected by the time of the server', async () => {
  const own = await s3Destination.open(destination, networkOf());
  taken.length = 0;
  const serverTime = '<ServerTime>2031-01-02T03:04:05Z</ServerTime>';
  answers.push(says(403, 'RequestTimeTooSkewed', serverTime));
  expect(await own.send(message())).toMatchObject({ facts: { etag: '"e"' } });
  expect(taken).toHaveLength(2);
  expect(String(taken[1]?.headers['x-amz-date'])).toMatch(/^20310102T0304/);
  answers.push(says(403, 'RequestTimeTooSkewed', serverTime), says(403, 'RequestTimeTooSkewed', serverTime));
  await expect(own.send(message())).rejects.toMatchObject({
    code: 'sign_in_refused',
    message: 'The clocks of this machine and of the broker differ by too much, so it refuses the signature.',
  });
  await own.close();
});

test('a connection that the server closed while it was idle costs nothing', async () => {
  await producer.send(message());
  taken.length = 0;
  answers.push((response) => response.destroy());
  expect(await producer.send(message())).toMatchObject({ facts: { etag: '"e"' } });
  expect(taken).toHaveLength(2);
});

test('a body over our bound is refused before it is compressed', async () => {
  await expect(producer.send(message({ body: Buffer.alloc(64 * 1024 * 1024 + 1) }))).rejects.toMatchObject({
    code: 'message_too_large',
  });
});

test('the address of a bucket: in the name for Amazon, in the path for others', () => {
  const at = (more: Partial<S3Destination>) => {
    const { isTls, host, path } = s3Address({ ...settings, endpoint: '', ...more });
    return `${isTls ? 'https' : 'http'}://${host}${path}`;
  };
  expect(at({})).toBe('https://bucket.s3.eu-west-1.amazonaws.com');
  expect(at({ default_region: 'cn-north-1' })).toBe('https://bucket.s3.cn-north-1.amazonaws.com.cn');
  // Its certificate would not fit.
  expect(at({ bucket: 'a.bucket' })).toBe('https://s3.eu-west-1.amazonaws.com/a.bucket');
  expect(at({ endpoint: 'http://[::1]:9000/base/' })).toBe('http://[::1]:9000/base/bucket');
  expect(() => at({ endpoint: 'ftp://x' })).toThrow('The endpoint is not an http or https URL.');
});

test('an object goes to no address that the egress rule blocks', async () => {
  const strict = new HttpClient({ egress: 'public' });
  taken.length = 0;
  for (const host of ['127.0.0.1', 'localhost']) {
    const own = { ...settings, endpoint: endpoint.replace('127.0.0.1', host) };
    await expect(
      s3Destination.open({ type: 's3', s3: own }, networkOf({ egress: strict.egress })),
    ).rejects.toMatchObject({ code: 'address_blocked' });
  }
  expect(taken).toEqual([]);
});

test('objects whose time is over, or whose connection is closed, hold no socket', async () => {
  const own = await s3Destination.open(destination, networkOf());
  const [ends, sockets] = [Array.from({ length: 12 }, () => new AbortController()), new Set<string>()];
  const silent = (response: ServerResponse) => {
    const { remotePort } = response.socket ?? {};
    sockets.add(String(remotePort));
    response.on('close', () => sockets.delete(String(remotePort)));
  };
  answers.push(...ends.map(() => silent));
  const sending = ends.map(({ signal }) => {
    const limit = {
      get isOver() {
        return signal.aborted;
      },
      begin: () => undefined,
      whenOver: (call: () => void) => signal.addEventListener('abort', call),
    };
    return own.send(message({ limit })).catch((error: unknown) => error);
  });
  await eventually(() => sockets.size, 8);
  ends[0]?.abort();
  expect(await sending[0]).toBeInstanceOf(Error);
  await own.close();
  for (const end of await Promise.all(sending)) expect(end).toBeInstanceOf(Error);
  await eventually(() => sockets.size, 0);
  answers.length = 0;
});
