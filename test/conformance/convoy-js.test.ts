import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { Journey, type Send, withQuery } from './journey.ts';

/** convoy.js 2: a content type only with a body, lists as repeated keys, one success code per call. */
const app = await shared(startTestApp({ POSTHORN_DEFAULTS: 'standard' }));
const receiver = await shared(Receiver.start());

const send: Send = async (method, path, { body, query } = {}) => {
  const response = await app.project.raw(method, withQuery(path, query), {
    body,
    headers: {
      accept: 'application/json',
      'user-agent': 'speakeasy-sdk/typescript 2.1.3 2.0.0 26.3.5 convoy.js',
    },
  });
  // The library takes nothing for JSON that does not say so.
  expect(response.headers.get('content-type')).toMatch(/^application\/json(;|$)/);
  return { status: response.status, answer: await response.json() };
};

describe('convoy.js', () => {
  // differs Requests and answers: Updating and deprecating an event type answer 201; Convoy 202 and 200. Clients
  //   expect 201.
  test('gets the expected code and shape on every call', () => new Journey(send, receiver.url).run());

  test('gets whole seconds and payloads as objects without naming a version', async () => {
    const { answer } = await send('POST', '/endpoints', {
      body: { name: 'e', url: receiver.url, http_timeout: 12, rate_limit: 1, rate_limit_duration: 60 },
    });
    expect(answer.data).toMatchObject({
      http_timeout: 12,
      rate_limit_duration: 60,
      name: 'e',
      url: receiver.url,
    });
    const body = { event_type: 'x', data: { a: [1, { b: null }] }, custom_headers: { h: 'v' } };
    const sent = await send('POST', '/events/broadcast', { body });
    expect(sent.answer.data).toMatchObject({ data: { a: [1, { b: null }] }, headers: { h: ['v'] } });
  });

  test.each([
    ['GET', '/endpoints/none', 404],
    ['POST', '/endpoints', 400],
  ] as const)('gets the error envelope of %s %s', async (method, path, status) => {
    const { answer, ...rest } = await send(method, path, method === 'POST' ? { body: {} } : {});
    expect(rest.status).toBe(status);
    expect(answer).toMatchObject({ status: false, message: expect.any(String) });
    expect(answer).not.toHaveProperty('data');
  });
});
