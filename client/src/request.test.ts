import { getEventListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorTable } from '../../src/domain/errors.ts';
import { type CallOptions, Posthorn, PosthornError } from './posthorn.ts';

/** A server that gives the next answer of a list to each request. */
type Reply = (response: ServerResponse) => void;
let replies: Reply[] = [];
let requests: { request: IncomingMessage; at: number }[] = [];
const server = createServer((request, response) => {
  requests.push({ request, at: performance.now() });
  request.resume();
  request.on('end', () => (replies.shift() ?? good)(response));
});

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
const refused = (status: number, code: string, headers?: Record<string, string>): Reply =>
  json(status, { status: false, message: `about ${code}`, code }, headers);
const good: Reply = json(200, { status: true, message: '', data: { uid: 'x' } });
const drop: Reply = (response) => response.destroy();
const silence: Reply = () => {};

let posthorn: Posthorn;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  posthorn = new Posthorn({ url, key: 'key', project: 'p', firstDelay: 1 });
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  replies = [];
  requests = [];
});

const failure = async (call: Promise<unknown>): Promise<PosthornError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PosthornError);
  return error as PosthornError;
};

describe('a call that creates', () => {
  const create = (options?: CallOptions) =>
    posthorn.endpoints.create({ name: 'n', url: 'https://example.com' }, options);
  const keys = () => requests.map(({ request }) => request.headers['idempotency-key']);

  it('is sent again with the same key after a lost answer', async () => {
    replies = [drop, refused(503, 'outcome_unknown')];
    expect(await create()).toEqual({ uid: 'x' });
    expect(keys()).toHaveLength(3);
    expect([new Set(keys()).size, keys()[0]]).toEqual([1, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it('has a key of its own, or that of the caller', async () => {
    await create();
    await create();
    await create({ idempotencyKey: 'mine' });
    expect([new Set(keys()).size, keys()[2]]).toEqual([3, 'mine']);
    await posthorn.endpoints.pause('e', { idempotencyKey: 'mine' });
    expect(keys()[3]).toBeUndefined();
  });
});

describe('a call that would do its work twice', () => {
  const resend = () => posthorn.eventDeliveries.resend('d');

  it.each([
    ['429', refused(429, 'rate_limited')],
    ['503', refused(503, 'stopping')],
    ['503 of the database', refused(503, 'database_unavailable')],
    ['408', refused(408, 'request_timeout')],
    ['429 of a proxy', (response: ServerResponse) => void response.writeHead(429).end('slow down')],
  ])('is sent again after %s, since nothing was done', async (_name, reply) => {
    replies = [reply, reply];
    expect(await resend()).toEqual({ uid: 'x' });
    expect(requests).toHaveLength(3);
  });

  it.each([
    ['a drop', drop, 'network'],
    ['503 outcome_unknown', refused(503, 'outcome_unknown'), 'outcome_unknown'],
    ['503 of a proxy', (response: ServerResponse) => void response.writeHead(503).end('no'), 'bad_answer'],
    ['a cut answer', (response: ServerResponse) => void response.writeHead(201).end('{"sta'), 'bad_answer'],
  ])('is not sent again after %s', async (_name, reply, code) => {
    replies = [reply];
    expect(await failure(resend())).toMatchObject({ code, attempts: 1 });
    expect(requests).toHaveLength(1);
  });

  it('is sent again if there was no connection', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((resolve) => closed.close(resolve));
    const alone = new Posthorn({ url, key: 'key', project: 'p', firstDelay: 1, retries: 2 });
    expect(await failure(alone.endpoints.pause('e'))).toMatchObject({
      code: 'network',
      status: 0,
      attempts: 3,
    });
  });
});

describe('a call that may be repeated', () => {
  it.each([
    ['a read', () => posthorn.endpoints.get('e')],
    ['an update', () => posthorn.endpoints.update('e', { name: 'n' })],
    ['an event', () => posthorn.events.broadcast({ event_type: 't', data: 1 })],
  ])('is sent again after a lost answer: %s', async (_name, call) => {
    replies = [drop, refused(503, 'outcome_unknown'), good];
    await call();
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ request }) => request.headers['x-request-id'])).size).toBe(1);
  });

  it('a deletion that finds nothing after a lost answer has succeeded', async () => {
    replies = [drop, refused(404, 'not_found')];
    await posthorn.endpoints.delete('e');
    replies = [refused(404, 'not_found')];
    expect(await failure(posthorn.endpoints.delete('e'))).toMatchObject({ code: 'not_found' });
  });

  it('ends with the last error', async () => {
    replies = Array.from({ length: 9 }, () => drop);
    expect(await failure(posthorn.endpoints.get('e'))).toMatchObject({ code: 'network', attempts: 6 });
    expect(requests).toHaveLength(6);
  });

  it('waits as long as Retry-After says, and not at all if that is too long', async () => {
    replies = [refused(429, 'overloaded', { 'retry-after': '1' })];
    await posthorn.endpoints.get('e');
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(990);
    replies = [refused(429, 'overloaded', { 'retry-after': '3600' })];
    expect(await failure(posthorn.endpoints.get('e'))).toMatchObject({ retryAfter: 3600, attempts: 1 });
  });
});

describe('every error of the server', () => {
  const never = Object.entries(errorTable).filter(
    ([code]) =>
      !/^(rate_limited|overloaded|stopping|database_unavailable|outcome_unknown|request_timeout)$/.test(code),
  );

  it('says what is wrong with its database', async () => {
    const code = 'database_unavailable';
    replies = [json(503, { status: false, message: 'm', code, reason: 'full' })];
    expect(await failure(posthorn.projects.list({ retries: 0 }))).toMatchObject({ code, reason: 'full' });
  });

  it.each(Object.entries(errorTable))('%s has its code, status and request id', async (code, { status }) => {
    replies = [refused(status, code, { 'x-request-id': 'r-1' })];
    const error = await failure(posthorn.projects.list({ retries: 0 }));
    expect(error).toMatchObject({ code, status, requestId: 'r-1', method: 'GET', path: '/api/v1/projects' });
    expect(error.message).toBe(`about ${code}`);
  });

  it.each(never)('%s is not sent again', async (code, { status }) => {
    replies = [refused(status, code)];
    await failure(posthorn.projects.list());
    expect(requests).toHaveLength(1);
  });

  it('validation_failed names the fields', async () => {
    const fields = [
      { field: 'url', problem: 'is required' },
      { field: '', problem: 'unknown field nmae; did you mean name?' },
    ];
    replies = [json(400, { status: false, code: 'validation_failed', message: 'x', fields })];
    expect((await failure(posthorn.projects.list())).fields).toEqual(fields);
    replies = [refused(404, 'not_found')];
    expect((await failure(posthorn.projects.list())).fields).toEqual([]);
  });

  it('a redirect is not followed', async () => {
    replies = [(response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()];
    expect(await failure(posthorn.projects.list())).toMatchObject({ code: 'bad_answer', status: 302 });
  });
});

describe('the end of a call', () => {
  it('a timeout is an error of its own', async () => {
    replies = [silence, silence];
    const error = await failure(posthorn.endpoints.get('e', { timeout: 20, retries: 1 }));
    expect(error).toMatchObject({ code: 'timeout', attempts: 2 });
  });

  it('a signal ends a request, and rejects with its reason', async () => {
    const controller = new AbortController();
    replies = [() => controller.abort(new Error('enough'))];
    await expect(posthorn.endpoints.get('e', { signal: controller.signal })).rejects.toThrow('enough');
  });

  it('a signal of many calls has one listener while they run, none after them, and ends them all', async () => {
    const controller = new AbortController();
    const listeners = () => getEventListeners(controller.signal, 'abort').length;
    const counts: number[] = [];
    replies = Array.from({ length: 24 }, () => (response) => {
      counts.push(listeners());
      good(response);
    });
    const call = () => posthorn.endpoints.get('e', { signal: controller.signal });
    await Promise.all(replies.map(call));
    expect([Math.max(...counts), listeners()]).toEqual([1, 0]);
    const sent = Array.from({ length: 12 }, () => Promise.withResolvers<void>());
    replies = sent.map(
      ({ resolve }) =>
        () =>
          resolve(),
    );
    const calls = sent.map(() => expect(call()).rejects.toThrow('enough'));
    await Promise.all(sent.map(({ promise }) => promise));
    controller.abort(new Error('enough'));
    await Promise.all(calls);
  });

  it('a signal ends a wait', async () => {
    const controller = new AbortController();
    replies = [
      (response) => {
        response.on('close', () => setImmediate(() => controller.abort(new Error('enough'))));
        refused(429, 'overloaded', { 'retry-after': '30' })(response);
      },
    ];
    await expect(posthorn.endpoints.get('e', { signal: controller.signal })).rejects.toThrow('enough');
    expect(requests).toHaveLength(1);
  });

  it('a used signal ends a list between its pages', async () => {
    const pagination = { has_next_page: true, next_page_cursor: 'c' };
    const page = json(200, { status: true, data: { content: [{ uid: 'a' }], pagination } });
    replies = [page, page];
    const controller = new AbortController();
    const walk = async () => {
      for await (const _ of posthorn.events.list({}, { signal: controller.signal }))
        controller.abort(new Error('enough'));
    };
    await expect(walk()).rejects.toThrow('enough');
    expect(requests).toHaveLength(1);
  });
});

describe('a request', () => {
  it('is strict, has the key and repeats list parameters', async () => {
    await posthorn.events.list({ endpointId: ['a', 'b'], ownerId: 'ö&' }).page();
    const [{ request }] = requests as [(typeof requests)[number]];
    expect(request.headers).toMatchObject({ authorization: 'Bearer key', 'x-posthorn-strict': 'true' });
    expect(request.url).toBe(
      '/api/v1/projects/p/events?perPage=100&endpointId=a&endpointId=b&ownerId=%C3%B6%26',
    );
  });

  it('has a Date as RFC 3339 and one id as a list, and is not sent with an invalid Date', async () => {
    const noon = new Date('2026-01-31T12:00:00.250Z');
    await posthorn.events.list({ startDate: noon, endpointId: 'a' }).page();
    expect(requests[0]!.request.url).toBe(
      '/api/v1/projects/p/events?perPage=100&startDate=2026-01-31T12%3A00%3A00.250Z&endpointId=a',
    );
    const bodies: unknown[] = [];
    const { port } = server.address() as AddressInfo;
    const other = new Posthorn({
      url: `http://127.0.0.1:${port}`,
      key: 'k',
      project: 'p',
      fetch: (input, init) => {
        bodies.push(JSON.parse(init?.body as string));
        return fetch(input, init);
      },
    });
    await other.keys.create({ name: 'n', expires_at: noon });
    await other.eventDeliveries.forceResend({ ids: 'a' });
    await other.eventDeliveries.forceResend({ ids: ['a', 'b'] });
    await other.portalLinks.create({ name: 'n', owner_id: 'o', endpoints: null });
    expect(bodies).toEqual([
      { name: 'n', expires_at: '2026-01-31T12:00:00.250Z' },
      { ids: ['a'] },
      { ids: ['a', 'b'] },
      { name: 'n', owner_id: 'o', endpoints: null },
    ]);
    const never = new Date(Number.NaN);
    // As JSON it would be null: a key that never expires.
    await expect(other.keys.create({ name: 'n', expires_at: never })).rejects.toThrow('expires_at');
    await expect(posthorn.events.list({ endDate: never }).page()).rejects.toThrow(RangeError);
    expect(requests).toHaveLength(5);
  });

  it('cannot be led to another operation by an id', async () => {
    await posthorn.endpoints.get('a/../b?c#d');
    expect(requests[0]!.request.url).toBe('/api/v1/projects/p/endpoints/a%2F..%2Fb%3Fc%23d');
    for (const id of ['', '.', '..'])
      expect(() => posthorn.endpoints.get(id)).toThrow('An id is missing in /endpoints/.');
  });

  it('passes warnings on', async () => {
    const warned: unknown[] = [];
    const { port } = server.address() as AddressInfo;
    const options = { url: `http://127.0.0.1:${port}`, key: 'k', strict: false };
    const other = new Posthorn({ ...options, onWarnings: (warnings) => warned.push(...warnings) });
    replies = [json(200, { status: true, data: [], warnings: ['one', 'two'] })];
    await other.projects.list();
    expect(warned).toEqual(['one', 'two']);
    expect(requests[0]!.request.headers['x-posthorn-strict']).toBeUndefined();
  });

  it('needs a project where the path has one', () => {
    const { port } = server.address() as AddressInfo;
    const other = new Posthorn({ url: `http://127.0.0.1:${port}`, key: 'k' });
    expect(() => other.endpoints.list()).toThrow('needs a project');
    expect(() => new Posthorn({ url: 'ftp://x', key: 'k' })).toThrow('http');
    expect(() => new Posthorn({ url: 'http://x', key: 'k\nx' })).toThrow();
  });
});
