import { describe, expect, test } from 'vitest';
import { NOON } from '../../test/support/samples/leased-delivery.ts';
import { type RoutingFields, routingOf } from '../../test/support/samples/routing.ts';
import type { Breaker } from '../domain/config/circuit-breaker.ts';
import { LANE } from '../domain/delivery.ts';
import { type GatedRow, gateOf } from './gate.ts';

const breaker: Breaker = { state: 'open', trips: 1, probes: 0, changedAtMs: NOON };
const HALF_OPEN = NOON + 30_000;
const halfOpen: Breaker = { ...breaker, changedAtMs: NOON - 30_000 };
const limit = { rate_limit: 5, rate_limit_duration: 1 };
const own = { subscription: { rate_limit_config: { count: 2, duration: 3 } } };

const gate = (fields: RoutingFields, row: Partial<GatedRow> = {}) =>
  gateOf(routingOf(fields), { key: 'e', ...row }, NOON);

describe('a due row', () => {
  test.each<[string, RoutingFields, object, Partial<GatedRow>?]>([
    ['of an active endpoint goes', {}, { kind: 'open' }],
    ['of a deleted endpoint', { endpoint: null, breaker }, { kind: 'gone' }],
    [
      'of an inactive endpoint',
      { endpoint: { status: 'inactive', ...limit }, breaker },
      { kind: 'inactive' },
    ],
    [
      'of an endpoint that has not answered the challenge',
      { endpoint: { verification: 'challenge', status: 'paused' }, breaker },
      { kind: 'pending' },
    ],
    [
      'of a pull endpoint, which has no challenge',
      { endpoint: { verification: 'challenge', delivery: 'pull' } },
      { kind: 'pull' },
    ],
    ['of an endpoint that expires later', { endpoint: { expires_at: NOON + 1 } }, { kind: 'open' }],
    [
      'of an endpoint that has expired, also if it is paused',
      { endpoint: { expires_at: NOON, status: 'paused' }, breaker },
      { kind: 'inactive' },
    ],
    [
      'of a paused endpoint',
      { endpoint: { status: 'paused', delivery: 'pull' }, breaker },
      { kind: 'paused' },
    ],
    ['of a pull endpoint', { endpoint: { delivery: 'pull', ...limit }, breaker }, { kind: 'pull' }],
    ['of a device', { endpoint: { delivery: 'device' } }, { kind: 'pull' }],
    ['behind an open breaker', { endpoint: limit, breaker }, { kind: 'breaker', untilMs: HALF_OPEN }],
    [
      'behind a half-open breaker',
      { endpoint: limit, breaker: halfOpen },
      { kind: 'probe', changedMs: halfOpen.changedAtMs },
    ],
    ['behind a closed breaker', { breaker: { ...breaker, state: 'closed' } }, { kind: 'open' }],
    ['that is the probe', { breaker: halfOpen }, { kind: 'open' }, { probeFence: '1' }],
    [
      'that is the probe, under a limit',
      { endpoint: limit, breaker },
      { kind: 'limited' },
      { probeFence: '1' },
    ],
    ['under the limit of its endpoint', { endpoint: limit }, { kind: 'limited' }],
    ['under a limit of its own', own, { kind: 'limited' }, { key: 's' }],
    ['beside a subscription with a limit', own, { kind: 'open' }],
    [
      'under the key of its subscription, behind a pause',
      { ...own, endpoint: { status: 'paused' } },
      { kind: 'paused' },
      { key: 's' },
    ],
    [
      'of a consumer whose lease ended',
      { endpoint: { status: 'paused', delivery: 'pull' } },
      { kind: 'open' },
      { lane: LANE.leased },
    ],
    ['of another lane', { endpoint: { status: 'paused' } }, { kind: 'paused' }, { lane: LANE.replay }],
  ])('%s', (_what, fields, expected, row) => {
    expect(gate(fields, row)).toEqual(expected);
  });
});

describe('a row that is due later', () => {
  const later = { dueMs: NOON + 20_000 };
  const due = { kind: 'due', untilMs: later.dueMs };

  test.each<[string, RoutingFields, object]>([
    ['waits for its time', {}, due],
    ['is not discarded before', { endpoint: { status: 'inactive' } }, due],
    ['is not pulled before', { endpoint: { delivery: 'pull' } }, due],
    ['has no turn under a limit before', { endpoint: limit }, due],
    ['waits for the end of a pause', { endpoint: { status: 'paused' } }, { kind: 'paused' }],
    ['waits for a breaker that opens even later', { breaker }, { kind: 'breaker', untilMs: HALF_OPEN }],
    ['waits longer than for its breaker', { breaker: { ...breaker, changedAtMs: NOON - 20_000 } }, due],
    ['waits behind a half-open breaker', { breaker: halfOpen }, due],
  ])('%s', (_what, fields, expected) => {
    expect(gate(fields, later)).toEqual(expected);
  });

  test('is due from its time on', () => {
    expect(gate({}, { dueMs: NOON })).toEqual({ kind: 'open' });
    expect(gate({}, { dueMs: null })).toEqual({ kind: 'open' });
  });
});
