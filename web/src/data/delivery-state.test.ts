import { expect, it } from 'vitest';
import { words } from '../parts/languages/en.ts';
import { tellDelivery as tellCustomer } from '../portal/reason.ts';
import { tellDelivery, triesOf } from './delivery-state.ts';

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
  expect(tellDelivery(delivery, String)).toBe('Delivered 12.4 ms after the event was accepted, after 1 try.');
  expect(tellCustomer(words, delivery, String)).toBe('Delivered in 12.4 ms, at try 1.');
});

it('a delivery that was retried by hand has no more tries than it made', () => {
  expect(triesOf({ num_trials: 1, retry_limit: 3 })).toBe('1 of 3');
  expect(triesOf({ num_trials: 2, retry_limit: 1 })).toBe('2');
});
