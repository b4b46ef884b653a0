import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());

const URL = 'http://127.0.0.1:9/';

async function call(method: string, path: string, body: unknown, strict = false): Promise<Json> {
  const headers: Record<string, string> = strict ? { 'x-posthorn-strict': 'true' } : {};
  return (await app.project.raw(method, path, { body, headers })).json();
}

test('a misplaced field is named with its right place, and the call succeeds', async () => {
  const { endpoint } = await subscribe(app.project, URL);
  const body = {
    name: 'misplaced',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['a'], body: { amount: 1 } },
  };
  const warning = 'unknown field filter_config.body; did you mean filter_config.filter.body?';
  const answer = await call('POST', '/subscriptions', body);
  expect(answer).toMatchObject({ status: true, data: { name: 'misplaced' }, warnings: [warning] });
  const refused = await call('POST', '/subscriptions', body, true);
  expect(refused).toMatchObject({ status: false, code: 'validation_failed', message: warning });
});

test('a field without a similar name is named alone, on events too; a call without any has no warnings', async () => {
  const event = { event_type: 'a', data: { evnt_type: 1 } };
  expect(await call('POST', '/events/broadcast', event)).not.toHaveProperty('warnings');
  expect((await call('POST', '/events/broadcast', { ...event, colour: 'red' })).warnings).toEqual([
    'unknown field colour',
  ]);
  expect((await call('POST', '/events/broadcast', { ...event, evnt_type: 'b' }, true)).message).toBe(
    'unknown field evnt_type; did you mean event_type?',
  );
  expect(await call('POST', '/events/broadcast', event, true)).toMatchObject({ status: true });
});

test('a refusal names unknown fields too', async () => {
  const answer = await call('POST', '/endpoints', { nmae: 'x', url: URL });
  expect(answer).toMatchObject({
    message: 'name: is required',
    warnings: ['unknown field nmae; did you mean name?'],
  });
});

test('whole objects written back give no warning, strict or not', async () => {
  const { endpoint, subscription } = await subscribe(app.project, URL);
  const source = await app.project.post('/sources', { name: 's', type: 'http', verifier: { type: 'noop' } });
  const link = await app.project.post('/portal-links', { name: 'l', owner_id: 'o', endpoints: [] });
  await app.project.post('/event-types', { name: 'a.type' });
  const [filter] = await app.project.get(`/subscriptions/${subscription.uid}/filters`);
  for (const path of [
    `/endpoints/${endpoint.uid}`,
    `/subscriptions/${subscription.uid}`,
    `/sources/${source.uid}`,
    `/portal-links/${link.uid}`,
    `/subscriptions/${subscription.uid}/filters/${filter.uid}`,
    '',
  ]) {
    const whole = await app.project.get(path);
    const { status, message, warnings } = await call('PUT', path, whole, true);
    expect({ path, status, message, warnings }).toEqual({ path, status: true, message, warnings: undefined });
  }
});

test('a filter value that can never match is a warning', async () => {
  const { endpoint, subscription } = await subscribe(app.project, URL);
  const never = { amount: { $gt: 'abc' } };
  const at = (place: string) => [`${place}body.amount.$gt: "abc" is not a number, so it never matches`];
  const filters = `/subscriptions/${subscription.uid}/filters`;
  const config = { filter_config: { filter: { body: never } } };
  const made = { name: 'n', endpoint_id: endpoint.uid, ...config };
  const inConfig = at('filter_config.filter.');
  expect((await call('POST', '/subscriptions', made)).warnings).toEqual(inConfig);
  expect((await call('PUT', `/subscriptions/${subscription.uid}`, config)).warnings).toEqual(inConfig);
  expect((await call('POST', `/subscriptions/${subscription.uid}/preview`, config)).warnings).toEqual(
    inConfig,
  );
  const tried = { schema: { body: never }, request: { body: {} } };
  expect((await call('POST', '/subscriptions/test_filter', tried)).warnings).toEqual(at('schema.'));
  const record = { event_type: 'b.*', body: never };
  expect((await call('POST', filters, record)).warnings).toEqual(at(''));
  expect((await call('POST', `${filters}/bulk`, [{ ...record, event_type: 'c.*' }])).warnings).toEqual(
    at('0.'),
  );
  const refused = await call('POST', '/subscriptions', made, true);
  expect(refused).toMatchObject({ status: false, message: inConfig[0] });
});
