import { expect, test } from 'vitest';
import { targetOf } from './request-target.ts';

const headers = { authorization: 'Bearer CO.key' };

test.each([
  ['/api/v1/projects/01ABC/events?page=1', { kind: 'project', id: '01ABC' }],
  ['/api/v1/projects/01%41BC', { kind: 'project', id: '01ABC' }],
  ['/api/v1/projects/%E0%A4%A', { kind: 'project', id: '%E0%A4%A' }],
  ['http://host/api/v1/projects/01ABC/events', { kind: 'project', id: '01ABC' }],
  ['/%61pi/v1/projects', { kind: 'credential', value: 'CO.key' }],
  ['/ingest/mask?x=/api/v1/projects/01ABC', { kind: 'mask', value: 'mask' }],
  ['/portal?project=01ABC', { kind: 'project', id: '01ABC' }],
  ['/portal', { kind: 'any' }],
  ['/portal-api/endpoints', { kind: 'credential', value: 'CO.key' }],
  ['/mcp', { kind: 'credential', value: 'CO.key' }],
  ['/api/v1/projects', { kind: 'credential', value: 'CO.key' }],
  ['/auth/sign-in', { kind: 'home' }],
  ['/readyz?verbose', { kind: 'process' }],
  ['/metrics', { kind: 'process' }],
  ['/healthzzz', { kind: 'any' }],
  ['/assets/app.js', { kind: 'any' }],
])('%s', (url, target) => {
  expect(targetOf({ url, headers })).toEqual(target);
});

test('a call without a credential is about the home', () => {
  expect(targetOf({ url: '/api/v1/projects', headers: {} })).toEqual({ kind: 'home' });
  expect(targetOf({ url: '/api/v1/people', headers: { authorization: 'Bearer a b' } })).toEqual({
    kind: 'home',
  });
});
