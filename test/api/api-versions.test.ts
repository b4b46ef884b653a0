import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const url = 'http://127.0.0.1:9/';

const call = (method: string, path: string, version: string, options: { body?: unknown; expected: number }) =>
  app.project.call(method, path, { ...options, headers: { 'x-convoy-version': version } }) as Promise<Json>;

test('before 2024-01-01 durations are texts both ways and signatures are simple by default', async () => {
  const made = await call('POST', '/endpoints', '2023-06-01', {
    body: { name: 'n', url, http_timeout: '1m0s', rate_limit_duration: '10s' },
    expected: 201,
  });
  expect(made).toMatchObject({
    title: 'n',
    target_url: url,
    http_timeout: '1m0s',
    rate_limit_duration: '10s',
    advanced_signatures: false,
  });
  expect(made).not.toHaveProperty('url');
  expect(made).not.toHaveProperty('name');
  const asked = await call('POST', '/endpoints', '2023-06-01', {
    body: { name: 'n', url, advanced_signatures: true },
    expected: 201,
  });
  expect(asked).toMatchObject({ advanced_signatures: true, http_timeout: '0s' });
  const now = await app.project.get(`/endpoints/${made.uid}`);
  expect(now).toMatchObject({ name: 'n', url, http_timeout: 60, rate_limit_duration: 10 });
});

test('before 2024-04-01 url and name have their old names in every response with an endpoint', async () => {
  const { uid } = await app.project.post('/endpoints', { name: 'n', url });
  const old = { title: 'n', target_url: url, http_timeout: 0 };
  const at = `/endpoints/${uid}`;
  const get = (path: string) => call('GET', path, '2024-01-01', { expected: 200 });
  expect(await get(at)).toMatchObject(old);
  expect((await get('/endpoints')).content.at(0)).toMatchObject(old);
  const put = (path: string, body?: object) => call('PUT', path, '2024-01-01', { body, expected: 202 });
  expect(await put(at, { name: 'n', url })).toMatchObject(old);
  expect(await put(`${at}/pause`)).toMatchObject({ ...old, status: 'paused' });
  expect(await call('POST', `${at}/activate`, '2024-01-01', { expected: 202 })).toMatchObject(old);
  const rolled = await call('PUT', `${at}/expire_secret`, '2024-01-01', { body: {}, expected: 200 });
  expect(rolled).toMatchObject({ name: 'n', url });
});

test('the current version, no version and later ones get the current format', async () => {
  const { uid } = await app.project.post('/endpoints', { name: 'n', url });
  for (const version of ['2024-04-01', '2025-11-24', '', '2031-01-01']) {
    expect(await call('GET', `/endpoints/${uid}`, version, { expected: 200 })).toMatchObject({
      name: 'n',
      url,
    });
  }
  const response = await app.project.raw('GET', `/endpoints/${uid}`);
  expect(response.headers.get('x-convoy-version')).toBe('2025-11-24');
});

test('a version that is not a date counts as the oldest', async () => {
  const { uid } = await app.project.post('/endpoints', { name: 'n', url });
  expect(await call('GET', `/endpoints/${uid}`, 'latest', { expected: 200 })).toMatchObject({
    title: 'n',
    http_timeout: '0s',
  });
});

test('a text that is not a duration is refused, as is any text in the current version', async () => {
  const body = { name: 'n', url, http_timeout: 'soon' };
  const refused = await call('POST', '/endpoints', '2023-06-01', { body, expected: 400 });
  expect(refused.message).toContain('http_timeout');
  await app.project.post('/endpoints', { name: 'n', url, http_timeout: '10s' }, 400);
});

test('a portal link needs an owner in every version', async () => {
  for (const version of ['2023-06-01', '2024-04-01', '2025-11-24']) {
    const refused = await call('POST', '/portal-links', version, { body: { name: 'x' }, expected: 400 });
    expect(refused.message).toContain('owner_id');
  }
});
