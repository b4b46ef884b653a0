import { expect, it } from 'vitest';
import { words } from '../parts/languages/en.ts';
import { tellDelivery as tellCustomer } from '../portal/reason.ts';
import { maySendNow, tellDelivery, triesOf } from './delivery-state.ts';

it('a delivery that took less than a second says how long it took', () => {
  const delivery = {
    status: 'Success',
    waiting_for: null,
    cancelled_at: null,
    last_outcome: 'http_200',
    description: '',
    latency: '12.4ms',
    metadata: { num_trials: 1, retry_limit: 3, next_send_time: null },
  } as never;
  expect(tellDelivery(delivery, String)).toBe('Delivered 12.4 ms after it was due, at attempt 1.');
  expect(tellCustomer(words, delivery, String)).toBe('Delivered in 12.4 ms at attempt 1.');
});

it('a delivery says once what happened, and when its next attempt is', () => {
  const tell = (delivery: object) =>
    tellDelivery({ cancelled_at: null, ...delivery } as never, () => 'in 28 s');
  const metadata = { num_trials: 1, retry_limit: 3, next_send_time: '2026-01-31T15:04:05Z' };
  const answered = 'The endpoint answered 500 Some';
  expect(tell({ status: 'Retry', description: answered, waiting_for: { gate: 'retry' }, metadata })).toBe(
    'The endpoint answered 500 Some. Next attempt in 28 s (1 of 3 attempts used).',
  );
  const description = `${answered}. Paused by the circuit breaker, because the endpoint keeps failing.`;
  const waiting_for = { gate: 'circuit_breaker', until: '2026-01-31T15:04:05Z' };
  expect(tell({ status: 'Retry', description, waiting_for, metadata })).toBe(
    `${description} Next attempt in 28 s.`,
  );
  const later = { gate: 'delayed', until: '2026-01-31T15:04:05Z' };
  expect(tell({ status: 'Scheduled', description: 'Later.', waiting_for: later, metadata })).toBe(
    'Later. First attempt in 28 s.',
  );
  expect(tell({ status: 'Failure', description: answered, waiting_for: null, metadata })).toBe(
    'The endpoint answered 500 Some. Retry it to send it again.',
  );
});

it('a delivery that was retried by hand has no more attempts than it made', () => {
  expect(triesOf({ num_trials: 1, retry_limit: 3 })).toBe('1 of 3');
  expect(triesOf({ num_trials: 2, retry_limit: 1 })).toBe('2');
});

it('a delivery can be sent now if it waits for its time, a retry or a breaker, at an active endpoint that does not pull', () => {
  const may = (gate: string | null, endpoint: object | null = {}) =>
    maySendNow({
      waiting_for: gate === null ? null : { gate, until: null },
      endpoint_metadata: endpoint && { status: 'active', delivery: 'push', ...endpoint },
    } as never);
  expect([may('retry'), may('circuit_breaker'), may('delayed')]).toEqual([true, true, true]);
  for (const gate of ['paused', 'rate_limit', 'pull', 'sending', 'node', null])
    expect([gate, may(gate)]).toEqual([gate, false]);
  for (const endpoint of [{ delivery: 'pull' }, { status: 'paused' }, { status: 'inactive' }, null])
    expect([endpoint, may('retry', endpoint)]).toEqual([endpoint, false]);
});
