import { describe, expect, test } from 'vitest';
import { NOON } from '../../../test/support/samples/leased-delivery.ts';
import { OneProject, type RoutingFields, routingOf } from '../../../test/support/samples/routing.ts';
import type { Breaker } from '../../domain/config/circuit-breaker.ts';
import { BATCH_LANE } from '../../domain/delivery.ts';
import { decideGate } from './gates.ts';

const decide = (fields: RoutingFields, key = 'e', nowMs = NOON) =>
  decideGate(new OneProject(routingOf(fields)), { projectId: 'p', key, lane: 0 }, nowMs);
const open = {
  open: true,
  endpointId: 'e',
  limits: [],
  isProbe: false,
  probeSeconds: 0,
  breakerChangedMs: 0,
};

test('the rows of a deleted project are claimed, so that they end as discarded', () => {
  const cache = new OneProject(null);
  expect(decideGate(cache, { projectId: 'p', key: 'e', lane: 0 }, NOON)).toEqual(open);
  expect(cache.loads).toBe(0);
});

test('the rows of a project whose config is not read wait for a second, and the config is read', () => {
  const cache = new OneProject(undefined);
  const gate = decideGate(cache, { projectId: 'p', key: 'e', lane: 0 }, NOON);
  expect(gate).toEqual({ open: false, endpointId: 'e', againInMs: 1_000 });
  expect(cache.loads).toBe(1);
});

test('the gate of an active endpoint is open', () => {
  expect(decide({})).toEqual(open);
});

test('the gate of a paused endpoint is closed', () => {
  expect(decide({ endpoint: { status: 'paused' } })).toEqual({
    open: false,
    endpointId: 'e',
    againInMs: 5_000,
  });
});

test('the rows of an inactive or deleted endpoint are claimed past its limits and breaker', () => {
  const breaker: Breaker = { state: 'open', trips: 1, probes: 0, changedAtMs: NOON };
  const inactive = { status: 'inactive', rate_limit: 5, rate_limit_duration: 1 } as const;
  expect(decide({ endpoint: inactive, breaker })).toEqual(open);
  expect(decide({ endpoint: null, breaker })).toEqual(open);
});

test('rows of a pull endpoint wait for its consumers, except under a key that is no longer in use', () => {
  const endpoint = { delivery: 'pull' } as const;
  expect(decide({ endpoint })).toMatchObject({ open: false, againInMs: 5_000 });
  expect(decide({ endpoint }, 's')).toEqual(open);
  const subscription = { rate_limit_config: { count: 2, duration: 3 } };
  expect(decide({ endpoint, subscription }, 's')).toMatchObject({ open: false });
  // A batch that was made before is taken apart, wherever it waits.
  const formed = { projectId: 'p', lane: BATCH_LANE.formed };
  const cache = new OneProject(routingOf({ endpoint, subscription }));
  for (const key of ['s', 'e']) expect(decideGate(cache, { ...formed, key }, NOON)).toEqual(open);
});

describe('a subscription with a rate limit of its own', () => {
  const subscription = { rate_limit_config: { count: 2, duration: 3 } };
  const own = { key: 's', limit: { count: 2, durationMs: 3_000 } };

  test('has the gate of its endpoint', () => {
    expect(decide({ subscription, endpoint: { status: 'paused' } }, 's')).toMatchObject({
      open: false,
      endpointId: 'e',
    });
    expect(decide({ subscription }, 's')).toMatchObject({ open: true, endpointId: 'e' });
  });

  test('counts each send under its limit and that of its endpoint', () => {
    const endpoint = { rate_limit: 7, rate_limit_duration: 1 };
    const ofEndpoint = { key: 'e', limit: { count: 7, durationMs: 1_000 } };
    expect(decide({ subscription, endpoint }, 's')).toMatchObject({ limits: [ofEndpoint, own] });
    expect(decide({ subscription, endpoint }, 'e')).toMatchObject({ limits: [ofEndpoint] });
    expect(decide({ subscription }, 's')).toMatchObject({ limits: [own] });
  });
});

describe('a circuit breaker', () => {
  const breaker: Breaker = { state: 'open', trips: 1, probes: 0, changedAtMs: NOON };
  const TIMEOUT_MS = 30_000;

  test('that is open closes the gate until it is half open', () => {
    expect(decide({ breaker }, 'e', NOON + 10_000)).toEqual({
      open: false,
      endpointId: 'e',
      againInMs: TIMEOUT_MS - 10_000,
    });
  });

  test('that is half open allows a probe, for the timeout of the endpoint and 5 s', () => {
    const nowMs = NOON + TIMEOUT_MS;
    expect(decide({ breaker }, 'e', nowMs)).toEqual({
      ...open,
      isProbe: true,
      probeSeconds: 15,
      breakerChangedMs: NOON,
    });
    const slow = decide({ breaker, endpoint: { http_timeout: 60 } }, 'e', nowMs);
    expect(slow).toMatchObject({ isProbe: true, probeSeconds: 65 });
  });

  test('that closed again needs no probe', () => {
    expect(decide({ breaker: { ...breaker, state: 'closed' } })).toMatchObject({
      open: true,
      isProbe: false,
    });
  });
});
