import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { Journey, type Send } from './journey.ts';

/** convoy-python 1: closed enums, and a crash on null where a list or an object belongs. */
const app = await shared(startTestApp({ POSTHORN_DEFAULTS: 'standard' }));
const receiver = await shared(Receiver.start());

const send: Send = async (method, path, { body, query = {} } = {}) => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, each]),
  );
  const suffix = pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
  const response = await app.project.raw(method, `${path}${suffix}`, {
    body,
    headers: { accept: '*/*', 'user-agent': 'python-httpx/0.28.1' },
  });
  return { status: response.status, answer: await response.json() };
};

describe('convoy-python', () => {
  test('gets the expected code and shape on every call', () => new Journey(send, receiver.url).run());

  test('never gets null where it would fail on it', async () => {
    const { answer: sent } = await send('POST', '/events/broadcast', {
      body: { event_type: 'unmatched.type', data: {} },
    });
    expect(sent.data).toMatchObject({ endpoints: [], endpoint_metadata: [], status: 'Failure' });
    const { answer: made } = await send('POST', '/sources', { body: { name: 's', type: 'rest_api' } });
    expect(made.data).toMatchObject({
      provider: '',
      custom_response: { body: '', content_type: '' },
      forward_headers: [],
      idempotency_keys: [],
    });
    const { answer: link } = await send('POST', '/portal-links', {
      body: { name: 'p', owner_id: 'unknown' },
    });
    expect(link.data).toMatchObject({ endpoints: [], endpoints_metadata: [], endpoint_count: 0 });
    for (const path of [
      '/portal-links?ownerId=none',
      '/sources?type=db_change_stream',
      '/meta-events?endDate=2000-01-01',
    ])
      expect((await send('GET', path)).answer.data.content).toEqual([]);
  });

  // differs Requests and answers: `enabled_at` of a filter may be a time, null, or `{set, time}`. Clients send
  //   the object.
  test('sends enabled_at of a filter as {set, time}', async () => {
    const { answer: e } = await send('POST', '/endpoints', { body: { name: 'e', url: receiver.url } });
    const body = { name: 's', endpoint_id: e.data.uid, filter_config: { event_types: ['a'] } };
    const { answer: s } = await send('POST', '/subscriptions', { body });
    const base = `/subscriptions/${s.data.uid}/filters`;
    const [record] = (await send('GET', base)).answer.data;
    const set = async (enabled_at: unknown) =>
      (await send('PUT', `${base}/${record.uid}`, { body: { enabled_at } })).answer.data.enabled_at;
    expect(await set({ set: true, time: '2026-01-01T00:00:00Z' })).toBe('2026-01-01T00:00:00.000Z');
    expect(await set({ set: true, time: null })).toBeNull();
  });
});
