import { describe, expect, test } from 'vitest';
import { type LeasedFields, leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { answered, unanswered } from '../../../test/support/samples/outcomes.ts';
import type { ErrorCode, Outcome } from '../../dispatch/connection/outcome.ts';
import { deliveryModes, LANE, transitions } from '../../domain/delivery.ts';
import { judgeOutcome } from './judge-outcome.ts';

const DAY_MS = 86_400_000;
const RETRY = leasedDelivery().retry;
const judge = (fields: LeasedFields, outcome: Outcome, nowMs = NOON + 70) =>
  judgeOutcome(leasedDelivery(fields), outcome, { nowMs, random: 0, finalCodes: [410, 413, 422] });

describe('a success', () => {
  test.each([200, 204, 299])('is every answer from 200 to 299: %i', (status) => {
    expect(judge({ numTrials: 1 }, answered(status))).toEqual({
      status: 'Success',
      description: null,
      numTrials: 2,
      delayMs: null,
      lane: LANE.retry,
      latencyMs: 70,
      isSecondRequest: false,
      verdict: 'success',
    });
  });

  test.each([100, 199, 300, 304, 400, 500])('is not a status outside that range: %i', (status) => {
    expect(judge({}, answered(status))).toMatchObject({ status: 'Retry', latencyMs: null });
  });

  test('of the last try is a success', () => {
    expect(judge({ numTrials: 2 }, answered(200))).toMatchObject({ status: 'Success', verdict: 'success' });
  });
});

describe('a fault on our side', () => {
  const ours = unanswered('local_resource', { ours: true });

  test('of a first try leaves the delivery as it was, for 5 s', () => {
    expect(judge({ lane: LANE.replay }, ours)).toMatchObject({
      status: 'Scheduled',
      description: 'Not sent: It broke',
      numTrials: 0,
      delayMs: 5_000,
      lane: LANE.replay,
      isSecondRequest: false,
    });
  });

  test('of a later try uses no retry, not even the last', () => {
    expect(judge({ numTrials: 2, lane: LANE.retry }, ours)).toMatchObject({
      status: 'Retry',
      numTrials: 2,
      delayMs: 5_000,
      verdict: 'untried',
    });
  });

  test('of a second request keeps the second request', () => {
    expect(judge({ isSecondRequest: true }, ours)).toMatchObject({ isSecondRequest: true });
  });

  test('ends no delivery that goes at most once', () => {
    expect(judge({ deliveryMode: 'at_most_once' }, ours)).toMatchObject({ status: 'Scheduled' });
  });

  test('counts as a failed attempt once the delivery is a day old', () => {
    expect(judge({}, ours, NOON + DAY_MS - 1)).toMatchObject({ status: 'Scheduled', numTrials: 0 });
    expect(judge({}, ours, NOON + DAY_MS)).toMatchObject({ status: 'Retry', numTrials: 1, delayMs: 10_000 });
  });
});

describe('410', () => {
  test('ends the delivery with retries left, and reports that the endpoint wants no more', () => {
    expect(judge({}, answered(410))).toMatchObject({
      status: 'Failure',
      description: 'The endpoint answered 410 Some; it wants no more deliveries',
      numTrials: 1,
      delayMs: null,
      verdict: 'gone',
    });
  });

  test('is reported for an at-most-once delivery too', () => {
    expect(judge({ deliveryMode: 'at_most_once' }, answered(410))).toMatchObject({ verdict: 'gone' });
  });
});

describe('a final status', () => {
  test.each([
    [413, 'the payload is too large for it, so it is not retried'],
    [422, 'this status is final, so it is not retried'],
  ])('ends the delivery with retries left: %i', (status, why) => {
    expect(judge({}, answered(status))).toMatchObject({
      status: 'Failure',
      description: `The endpoint answered ${status} Some; ${why}`,
      verdict: 'failed',
      numTrials: 1,
      delayMs: null,
    });
  });

  test('is none that is not listed, not even 410', () => {
    const context = { nowMs: NOON, random: 0, finalCodes: [] };
    for (const status of [410, 413])
      expect(judgeOutcome(leasedDelivery(), answered(status), context)).toMatchObject({ status: 'Retry' });
  });
});

describe('webhook-delivery', () => {
  const saying = (status: number, ...values: string[]) =>
    judge({}, answered(status, { 'webhook-delivery': values }));

  test('abort-message ends a failed delivery with retries left', () => {
    expect(saying(500, 'abort-message')).toMatchObject({
      status: 'Failure',
      description: 'The endpoint answered 500 Some with webhook-delivery: abort-message; it wants no retry',
      verdict: 'failed',
      delayMs: null,
    });
  });

  test('disable ends it too, and reports that the endpoint wants no more', () => {
    expect(saying(503, 'disable')).toMatchObject({
      status: 'Failure',
      description:
        'The endpoint answered 503 Some with webhook-delivery: disable; it wants no more deliveries',
      verdict: 'gone',
    });
  });

  test.each([['ABORT-Message'], [' abort-message '], ['later, abort-message'], ['later', 'abort-message']])(
    'is read in any case, and in lists: %s %s',
    (...values) => expect(saying(500, ...values)).toMatchObject({ status: 'Failure' }),
  );

  test.each(['', 'abort', 'disabled', 'abort message', 'enable'])(
    'with another value is ignored: %s',
    (value) => {
      expect(saying(500, value)).toMatchObject({ status: 'Retry' });
    },
  );

  test('leaves a success a success', () => {
    expect(saying(200, 'abort-message')).toMatchObject({ status: 'Success', verdict: 'success' });
    expect(saying(204, 'disable')).toMatchObject({ status: 'Success', verdict: 'success' });
  });
});

describe('at most once', () => {
  const once = { deliveryMode: 'at_most_once' } as const;

  test('ends where the message was under way, at any error, also at one of ours', () => {
    const begun = { mayHaveArrived: true } as const;
    for (const more of [begun, { ...begun, ours: true }])
      expect(judge(once, unanswered('connection_refused', more))).toMatchObject({ status: 'Failure' });
    expect(judge({}, unanswered('connection_refused', begun))).toMatchObject({ status: 'Retry' });
  });

  test('is tried again where nothing of the message was sent, at any error', () => {
    expect(judge(once, unanswered('timeout', { mayHaveArrived: false }))).toMatchObject({ status: 'Retry' });
  });

  test('ends at any answer', () => {
    expect(judge(once, answered(500))).toMatchObject({
      status: 'Failure',
      description: 'The endpoint answered 500 Some; at most once, so it is not retried',
      numTrials: 1,
      delayMs: null,
      verdict: 'failed',
    });
  });

  test.each<ErrorCode>(['timeout', 'connection_reset', 'invalid_response', 'response_too_slow'])(
    'ends at %s, since the request may have arrived',
    (code) => {
      expect(judge(once, unanswered(code))).toMatchObject({ status: 'Failure' });
    },
  );

  test('ends if a kept connection was dropped: the request is not repeated', () => {
    const dropped = unanswered('connection_reset', { dropped: true });
    expect(judge(once, dropped)).toMatchObject({ status: 'Failure', isSecondRequest: false });
  });

  test.each<ErrorCode>([
    'connection_refused',
    'unreachable',
    'dns_not_found',
    'dns_failed',
    'tls_failed',
    'address_blocked',
    'bad_url',
    'invalid_request',
    'proxy_failed',
    'client_certificate_invalid',
    'local_resource',
  ])('is retried after %s, since no byte was sent', (code) => {
    expect(judge(once, unanswered(code))).toMatchObject({ status: 'Retry', delayMs: 10_000 });
  });
});

describe('a dropped kept connection', () => {
  const dropped = unanswered('connection_reset', { dropped: true });

  test('is followed at once by a second request of the same attempt', () => {
    expect(judge({ numTrials: 2, lane: LANE.retry }, dropped)).toMatchObject({
      status: 'Retry',
      description: 'It broke; sent once more',
      numTrials: 2,
      delayMs: 0,
      isSecondRequest: true,
      verdict: 'dropped',
    });
    expect(judge({ lane: LANE.replay }, dropped)).toMatchObject({ status: 'Scheduled', lane: LANE.replay });
  });

  test('of a second request is a failed attempt', () => {
    expect(judge({ isSecondRequest: true }, dropped)).toMatchObject({
      status: 'Retry',
      numTrials: 1,
      delayMs: 10_000,
      isSecondRequest: false,
    });
  });

  test('that was not kept is a failed attempt', () => {
    expect(judge({}, unanswered('connection_reset'))).toMatchObject({ numTrials: 1, isSecondRequest: false });
  });
});

describe('a failed attempt', () => {
  test('with retries left is followed by another, in the lane of retries', () => {
    expect(judge({ lane: LANE.replay, numTrials: 1 }, answered(500))).toEqual({
      status: 'Retry',
      description: 'The endpoint answered 500 Some',
      numTrials: 2,
      delayMs: 10_000,
      lane: LANE.retry,
      latencyMs: null,
      isSecondRequest: false,
      verdict: 'failed',
    });
    expect(judge({}, unanswered('timeout'))).toMatchObject({ status: 'Retry', description: 'It broke' });
  });

  test('that is the last ends the delivery', () => {
    expect(judge({ numTrials: 2 }, answered(500))).toMatchObject({
      status: 'Failure',
      description: 'The endpoint answered 500 Some; all 3 attempts are used up',
      numTrials: 3,
      delayMs: null,
      verdict: 'exhausted',
    });
  });

  test('that is the only one has its own text', () => {
    expect(judge({ retry: { ...RETRY, retryLimit: 1 } }, unanswered('timeout'))).toMatchObject({
      status: 'Failure',
      description: 'It broke; its only attempt is used up',
      verdict: 'exhausted',
    });
  });

  test('before a resend uses no attempt after it, and the waits begin again', () => {
    const resent = { numTrials: 3, budgetFrom: 3, retry: { ...RETRY, strategy: 'exponential' as const } };
    expect(judge(resent, answered(500))).toMatchObject({ status: 'Retry', numTrials: 4, delayMs: 10_000 });
    expect(judge({ ...resent, numTrials: 5 }, answered(500))).toMatchObject({ verdict: 'exhausted' });
  });

  test('waits longer each time, with random jitter, if the strategy is exponential', () => {
    const retry = { ...RETRY, strategy: 'exponential', retryLimit: 9 } as const;
    const delivery = leasedDelivery({ retry, numTrials: 2 });
    const judged = judgeOutcome(delivery, answered(500), { nowMs: NOON, random: 1, finalCodes: [] });
    expect(judged.delayMs).toBe(48_000);
  });
});

describe('Retry-After', () => {
  const asking = (status: number, value: string) => judge({}, answered(status, { 'retry-after': [value] }));

  test.each([429, 503, 500, 404, 301])('of %i lengthens the wait', (status) => {
    expect(asking(status, '60')).toMatchObject({ status: 'Retry', delayMs: 60_000 });
  });

  test('may be a date, counted from now', () => {
    expect(asking(503, new Date(NOON + 90_000).toUTCString()).delayMs).toBe(90_000);
  });

  test('that is absent changes nothing', () => {
    expect(judge({}, answered(429))).toMatchObject({ delayMs: 10_000 });
  });
});

test('every judgement is a transition of the table', () => {
  const outcomes = [
    ...[200, 204, 302, 404, 410, 429, 500].map((status) => answered(status)),
    unanswered('timeout'),
    unanswered('connection_refused'),
    unanswered('connection_reset', { dropped: true }),
    unanswered('local_resource', { ours: true }),
  ];
  const known = new Set(transitions.map(({ from, to }) => `${from} ${to}`));
  for (const outcome of outcomes)
    for (const numTrials of [0, 1, 2])
      for (const deliveryMode of deliveryModes) {
        const { status } = judge({ numTrials, deliveryMode }, outcome);
        expect(known).toContain(`${numTrials === 0 ? 'Scheduled' : 'Retry'} ${status}`);
      }
});
