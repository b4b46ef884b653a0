import { expect, test } from 'vitest';
import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { withoutCredentials } from './attempt-record.ts';

const owner = { credentials: ['x-own'], visible: new Set<string>() };
const basic = Buffer.from('ann:pässword').toString('base64');
const request = {
  url: 'http://127.0.0.1/',
  headers: [
    ['Authorization', `Basic ${basic}`],
    ['X-Own', 'own-credential'],
    ['Cookie', 'short'],
    ['X-Note', 'a note for all'],
  ] as [string, string][],
  body: Buffer.alloc(0),
  secrets: [],
};

function answered(text: string): Outcome {
  return {
    kind: 'response',
    status: 500,
    statusText: `500 ${text}`,
    headers: { 'x-echo': [text, 'other'] },
    body: Buffer.concat([Buffer.of(0xff, 0), Buffer.from(text)]),
    truncated: false,
    address: null,
    certificates: null,
    timings: { totalMs: 1 },
    startedAt: 0,
  };
}

test.each([`Basic ${basic}`, basic, 'ann:pässword', 'pässword', 'own-credential'])(
  'a response that echoes %s is stored without it',
  (secret) => {
    const kept = withoutCredentials(answered(`<${secret}> <${secret}>`), request, owner);
    expect(kept).toEqual(answered('<***> <***>'));
  },
);

test('text that is not a credential, or too short to identify, stays', () => {
  const outcome = answered('short, a note for all');
  expect(withoutCredentials(outcome, request, owner)).toEqual(outcome);
  const plain = { ...request, headers: request.headers.slice(3) };
  expect(withoutCredentials(outcome, plain, { ...owner, credentials: [] })).toBe(outcome);
});

test('the text of an error is stored without credentials', () => {
  const error: Outcome = {
    kind: 'error',
    code: 'invalid_response',
    message: 'bad: own-credential',
    ours: false,
    dropped: false,
    address: null,
    certificates: null,
    timings: { totalMs: 1 },
    startedAt: 0,
  };
  expect(withoutCredentials(error, request, owner)).toEqual({ ...error, message: 'bad: ***' });
});
