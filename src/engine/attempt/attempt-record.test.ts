import { expect, test } from 'vitest';
import { leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { unanswered } from '../../../test/support/samples/outcomes.ts';
import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { attemptRecord, requestResult, withoutCredentials } from './attempt-record.ts';

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
    startedMs: 0,
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
    startedMs: 0,
  };
  expect(withoutCredentials(error, request, owner)).toEqual({ ...error, message: 'bad: ***' });
});

test('a request that cannot be sent uses a try and is recorded, but is no failure of the endpoint', () => {
  const resultOf = (code: 'invalid_request' | 'connection_refused', numTrials = 0) =>
    requestResult(
      leasedDelivery({ numTrials }),
      {
        request,
        outcome: unanswered(code),
        owner,
        trace: null,
        made: { body: null, functionRequest: null },
        isStrain: false,
      },
      { attemptId: 'a', nowMs: NOON, finalCodes: [] },
    );
  const attempt = { outcome: 'invalid_request', succeeded: false };
  expect(resultOf('invalid_request')).toMatchObject({
    verdict: 'untried',
    status: 'Retry',
    numTrials: 1,
    attempt,
  });
  expect(resultOf('invalid_request', 2)).toMatchObject({
    verdict: 'untried',
    status: 'Failure',
    attempt,
  });
  expect(resultOf('connection_refused', 2)).toMatchObject({ verdict: 'exhausted' });
});

test('an attempt has the time at which its request began, by the clock of the database', () => {
  const outcome = { ...answered('late'), startedMs: performance.now() - 5_000 };
  const at = { attemptId: 'a', nowMs: NOON + 0.5 };
  const { requestedAtMs } = attemptRecord(at, request, { outcome, owner, succeeded: false });
  expect(Number.isInteger(requestedAtMs)).toBe(true);
  expect(requestedAtMs).toBeLessThanOrEqual(NOON - 5_000);
  expect(requestedAtMs).toBeGreaterThan(NOON - 60_000);
});
