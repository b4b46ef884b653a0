import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { Journey, type Send } from './journey.ts';

/**
 * convoy-go 2: a version and a content type on every request, `"{}"` as the body of a PUT without one and `null` of a
 * POST, every parameter of a list whether set or not, and times that were never set as the year 1.
 */
const app = await shared(startTestApp({ POSTHORN_DEFAULTS: 'standard' }));
const receiver = await shared(Receiver.start());

const ALWAYS = ['next_page_cursor', 'prev_page_cursor', 'direction', 'sort', 'query', 'ownerId', 'perPage'];
const NO_TIME = '0001-01-01T00:00:00';

function everyParameter(query: Record<string, string | string[]>): string {
  const empty = Object.fromEntries(ALWAYS.map((name) => [name, '']));
  const all = { ...empty, startDate: NO_TIME, endDate: NO_TIME, ...query };
  const pairs = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  );
  return new URLSearchParams(pairs).toString();
}

const bodies: Record<string, string> = { PUT: '"{}"', POST: 'null' };

const send: Send = async (method, path, { body, query } = {}) => {
  const sent = body === undefined ? bodies[method] : JSON.stringify(body);
  const suffix = query === undefined ? '' : `?${everyParameter(query)}`;
  const response = await app.project.raw(method, `${path}${suffix}`, {
    body: sent,
    headers: { 'content-type': 'application/json;charset=utf-8', 'x-convoy-version': '2025-11-24' },
  });
  return { status: response.status, answer: await response.json() };
};

describe('convoy-go', () => {
  test('gets the expected code and shape on every call', () => new Journey(send, receiver.url).run());

  // differs Lists: Empty parameters and dates of the year 1 are as if absent. convoy-go sends them.
  test('may send empty parameters in a list', async () => {
    await send('POST', '/endpoints', { body: { name: 'listed', url: receiver.url } });
    await send('POST', '/events/broadcast', { body: { event_type: 'x', data: {} } });
    const ids = (page: { answer: Json }) => page.answer.data.content.map((row: Json) => row.uid);
    const lists = [
      '/endpoints',
      '/events',
      '/eventdeliveries',
      '/sources',
      '/subscriptions',
      '/portal-links',
    ];
    for (const path of [...lists, '/meta-events'])
      expect([path, ids(await send('GET', path, { query: {} }))]).toEqual([
        path,
        ids(await send('GET', path)),
      ]);
    expect(ids(await send('GET', '/endpoints', { query: {} })).length).toBeGreaterThan(0);
    expect(ids(await send('GET', '/events', { query: {} })).length).toBeGreaterThan(0);
  });

  // differs Requests and answers: Sources and projects can be updated by POST. Calls without a body ignore one.
  //   convoy-go sends both.
  test('updates sources and projects by POST', async () => {
    const { answer: made } = await send('POST', '/sources', { body: { name: 's', type: 'rest_api' } });
    const body = { name: 'renamed', type: 'rest_api' };
    const updated = await send('POST', `/sources/${made.data.uid}`, { body });
    expect([updated.status, updated.answer.data.name]).toEqual([202, 'renamed']);
    const project = await send('POST', '', { body: { name: 'renamed' } });
    expect([project.status, project.answer.data.name]).toEqual([202, 'renamed']);
  });

  test('reads and updates a project with its own types', async () => {
    const config = {
      ratelimit: null,
      strategy: null,
      signature: { header: '', hash: '' },
      retention_policy: { policy: '720h' },
      disable_endpoint: false,
      replay_attacks: false,
      is_retention_policy_enabled: false,
    };
    const updated = await send('POST', '', { body: { name: 'typed', type: 'outgoing', config } });
    expect(updated.status).toBe(202);
    const { answer } = await send('GET', '');
    for (const { retention_policy, signature } of [updated.answer.data.config, answer.data.config]) {
      expect(retention_policy).toEqual({ policy: '720h', retention_policy_enabled: true });
      expect(signature.header).toBe('X-Convoy-Signature');
    }
  });

  test('accepts only a text or null as the data of a batch replay', async () => {
    const { status, answer } = await send('POST', '/events/batchreplay', { query: {} });
    expect([status, answer.data]).toEqual([200, null]);
  });

  test('recognises a 4xx by the failure flag of the envelope', async () => {
    for (const { status, answer } of [
      await send('GET', '/endpoints/none'),
      await send('POST', '/endpoints', { body: {} }),
      await send('DELETE', '/sources/none'),
    ]) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBe(false);
    }
  });

  test('cannot revoke a portal link without /revoke: that is an update without a body', async () => {
    const { answer } = await send('POST', '/portal-links', { body: { name: 'p', owner_id: 'o' } });
    expect((await send('PUT', `/portal-links/${answer.data.uid}`)).status).toBe(400);
    expect((await send('GET', `/portal-links/${answer.data.uid}`)).status).toBe(200);
  });

  // differs Requests and answers: Not imitated: convoy-go's `PortalLinks.Revoke` (400) and its
  //   `retry_config.duration` as a text. Faults of the client.
  test('gets retry_config.duration as an integer, as in the interface, not as a text', async () => {
    const { answer: e } = await send('POST', '/endpoints', { body: { name: 'e', url: receiver.url } });
    const retry_config = { type: 'linear', duration: '10s', retry_count: 3 };
    const body = { name: 's', endpoint_id: e.data.uid, retry_config };
    expect((await send('POST', '/subscriptions', { body })).answer.data.retry_config.duration).toBe(10);
  });
});
