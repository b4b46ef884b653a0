import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually, GIVE_UP_MS, not } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

/** Sends bytes over a socket of its own and reads until the server closes: the status, or 0 where it only closed. */
function exchange(head: string, body: Buffer): Promise<number> {
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer to ${JSON.stringify(head)} and ${body.length} bytes`));
    }, GIVE_UP_MS);
    socket.on('data', (bytes) => (answer += bytes.toString('latin1')));
    // A refusal may come before the body was read; what is still written then meets a closed socket.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0));
    });
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
  });
}

const latin = (max: number) =>
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
    maxLength: max,
  });
const known = fc.constantFrom(
  'content-type',
  'content-encoding',
  'x-signature',
  'authorization',
  'x-id',
  'webhook-id',
  'stripe-signature',
  '__proto__',
  'constructor',
);
const values = fc.oneof(
  latin(60),
  fc.constantFrom(
    'application/json',
    'application/json; charset=utf-16',
    'multipart/form-data; boundary=b',
    'multipart/form-data; boundary="',
    'application/x-www-form-urlencoded',
    'gzip',
    'br, gzip',
    'deflate',
    'identity',
    't=1,v1=00',
    'Basic Og==',
    ',,,;;;===',
  ),
);
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.json().map((text) => gzipSync(text)),
  fc.json().map((text) => brotliCompressSync(text)),
  fc.json().map((text) => gzipSync(text).subarray(0, -5)),
  latin(200).map((text) =>
    Buffer.from(`--b\r\ncontent-disposition: form-data; name="${text}"\r\n\r\n${text}\r\n--b--`, 'latin1'),
  ),
  fc.constantFrom(
    Buffer.from('['.repeat(50_000)),
    Buffer.from('{"__proto__":{"id":1}}'),
    Buffer.from('{"id":"\\u0000"}'),
    Buffer.from('{"id":"\\ud800"}'),
    Buffer.from('a=%ZZ&a=%00&__proto__=1'),
    Buffer.from('{"id":1e999}'),
  ),
);

test('any headers and bodies get a response, and never a 500', async () => {
  const verifiers = [
    {},
    {
      verifier: {
        type: 'hmac',
        hmac: { header: 'X-Signature', hash: 'SHA256', encoding: 'hex', secret: 'k' },
      },
    },
    { verifier: { type: 'basic_auth', basic_auth: { username: 'u', password: 'p' } } },
    {
      provider: 'stripe',
      verifier: { type: 'hmac', hmac: { secret: 'k', header: '', hash: '', encoding: '' } },
    },
    {
      provider: 'twilio',
      verifier: { type: 'hmac', hmac: { secret: 'k', header: '', hash: '', encoding: '' } },
    },
  ];
  const sources: Json[] = [];
  for (const fields of verifiers) {
    const locations = { idempotency_keys: ['request.body.id', 'request.header.x-id', 'request.query.q'] };
    sources.push(await app.project.post('/sources', { name: 's', type: 'http', ...locations, ...fields }));
  }
  const seen = new Map<number, number>();
  const request = fc.record({
    source: fc.nat(sources.length - 1),
    query: fc.oneof(
      fc.constant(''),
      fc.webQueryParameters().map((query) => `?${query}`),
    ),
    headers: fc.array(fc.tuple(known, values), { maxLength: 6 }),
    body: bodies,
    isChunked: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ source, query, headers, body, isChunked }) => {
      const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`;
      const lines = headers.map(([name, value]) => `${name}: ${value}`);
      const head = [
        `POST /ingest/${sources[source]?.mask_id}${query} HTTP/1.1`,
        'host: localhost',
        'connection: close',
        framing,
        ...lines,
        '',
        '',
      ].join('\r\n');
      const chunk =
        body.length === 0 ? [] : [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')];
      const sent = isChunked ? Buffer.concat([...chunk, Buffer.from('0\r\n\r\n')]) : body;
      const status = await exchange(head, sent);
      seen.set(status, (seen.get(status) ?? 0) + 1);
      expect([200, 400, 413]).toContain(status);
    }),
    { numRuns: 600 },
  );
  expect(seen.get(200)).toBeGreaterThan(20);
  expect(seen.get(400)).toBeGreaterThan(20);
  expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
});

test('broken framing is answered or closed, and the node keeps serving', async () => {
  const source = await httpSource(app.project);
  const path = `/ingest/${source.mask_id}`;
  const broken: [string, Buffer][] = [
    [`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n`, Buffer.alloc(0)],
    [
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
      Buffer.from('0\r\n\r\n'),
    ],
    [`POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`, Buffer.from('zz\r\n')],
    [`POST ${path} HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n`, Buffer.alloc(0)],
    [`POST ${path}/%E0%A4%A HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`, Buffer.alloc(0)],
    [`POST ${path} HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(40_000)}\r\n\r\n`, Buffer.alloc(0)],
    ['\u0000\u0001\u0002\r\n\r\n', randomBytes(64)],
  ];
  for (const [head, body] of broken) {
    const status = await exchange(head, body);
    expect([0, 400, 404, 431]).toContain(status);
  }
  expect((await fetch(source.url, { method: 'POST', body: '{}' })).status).toBe(200);
});

const text = JSON.stringify({ id: 1, text: 'ü'.repeat(500) });
test.each([
  ['gzip', gzipSync(text)],
  ['br', brotliCompressSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate without its header', deflateRawSync(text)],
  ['identity', Buffer.from(text)],
  ['gzip, br', brotliCompressSync(gzipSync(text))],
])('a body under %s is decoded and delivered as JSON', async (encoding, body) => {
  const source = await httpSource(app.project);
  const path = `/encoded-${source.mask_id}`;
  await subscribe(app.project, `${receiver.url}${path}`, { subscription: { source_id: source.uid } });
  const headers = {
    'content-type': 'application/json',
    'content-encoding': encoding.replace(' without its header', ''),
  };
  const answer = await fetch(source.url, { method: 'POST', body, headers });
  expect([answer.status, await answer.json()]).toMatchObject([200, { data: Buffer.byteLength(text) }]);
  const request = await eventually(
    async () => receiver.requests.find((each) => each.path === path),
    not(undefined),
  );
  expect(request?.body.toString()).toBe(text);
});

test('a multipart form becomes a JSON object of its fields, without the files', async () => {
  const source = await httpSource(app.project, { idempotency_keys: ['request.body.id'] });
  const form = new FormData();
  form.append('id', '7');
  form.append('name', 'Grüße');
  form.append('file', new Blob(['bytes']), 'file.bin');
  expect((await fetch(source.url, { method: 'POST', body: form })).status).toBe(200);
  const [event] = (await app.project.get(`/events?sourceId=${source.uid}`)).content;
  expect(event.data).toEqual({ id: '7', name: 'Grüße' });
});

test('an encoding that is unknown or does not decode is refused', async () => {
  const source = await httpSource(app.project);
  for (const [encoding, body] of [
    ['zstd-of-the-future', '{}'],
    ['gzip', '{}'],
    ['br', 'xx'],
  ]) {
    const headers = { 'content-encoding': encoding as string };
    const answer = await fetch(source.url, { method: 'POST', body: body as string, headers });
    expect([answer.status, ((await answer.json()) as Json).code]).toEqual([400, 'bad_encoding']);
  }
  expect((await app.project.get(`/events?sourceId=${source.uid}`)).content).toEqual([]);
});
