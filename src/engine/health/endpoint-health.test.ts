import { describe, expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { leasedDelivery } from '../../../test/support/samples/leased-delivery.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { answered } from '../../../test/support/samples/outcomes.ts';
import { OneProject, type RoutingFields, routingOf } from '../../../test/support/samples/routing.ts';
import { StateChanges } from '../../control/state-changes.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { back, type Tried } from '../attempt/sent.ts';
import type { Finding } from './breaker-changes.ts';
import { EndpointHealth } from './endpoint-health.ts';

const last = { deliveryId: leasedDelivery().id, status: null, reason: 'it broke' };
const exchange = { outcome: answered(500), requestBytes: 7, trace: null };
const failedBy = (verdict: 'gone' | 'exhausted' | 'failed', reason = 'it broke'): Tried => ({
  ...back(leasedDelivery(), reason),
  exchange,
  verdict,
  isStrain: false,
});
const FAILED = failedBy('failed');
const SUCCEEDED: Tried = { ...back(leasedDelivery()), verdict: 'success', exchange };
const probe = { probeFence: '3' };
/** Every 30 s a failing endpoint is looked at. */
const SAMPLE_MS = 30_000;

const never = () => Promise.reject(new Error('these tests change nothing'));

function healthOf(fields: RoutingFields | undefined) {
  const clock = new ManualClock();
  const cache = new OneProject(fields && routingOf(fields));
  const found: Finding[] = [];
  const states = new StateChanges({
    commits: { changeState: never, changeAtOnce: never },
    clock,
    log: quietLog,
  });
  const changes = states.kind<Finding>(async (_projectId, findings) => {
    found.push(...findings);
    return null;
  });
  const health = new EndpointHealth({ cache, changes, clock, log: quietLog });
  health.start();
  const attempted = (what: Tried, delivery: Partial<LeasedDelivery> = {}) =>
    health.attempted({ ...what, delivery: leasedDelivery(delivery) });
  /** The findings within a time. */
  const after = async (ms: number) => {
    await clock.advance(ms);
    return found.splice(0);
  };
  return { cache, health, states, attempted, after };
}

const at = { projectId: 'p', endpointId: 'e', seen: 1 };
const lookedAt = { projectId: 'p', endpointId: 'e', kind: 'failing', key: 'failing e', last };

describe('an endpoint that fails', () => {
  test('is looked at once its sample rate has passed, and not again until it fails again', async () => {
    const { attempted, after } = healthOf({});
    attempted(FAILED);
    expect(await after(SAMPLE_MS - 1)).toEqual([]);
    expect(await after(1_000)).toEqual([lookedAt]);
    expect(await after(3 * SAMPLE_MS)).toEqual([]);
  });

  test('is looked at once for any number of failures, with the last of them', async () => {
    const { attempted, after } = healthOf({});
    attempted(FAILED);
    attempted(failedBy('failed', 'it broke later'));
    const later = { deliveryId: leasedDelivery().id, status: null, reason: 'it broke later' };
    expect(await after(SAMPLE_MS + 1_000)).toEqual([{ ...lookedAt, last: later }]);
  });

  test('is looked at again after each sample rate in which it failed', async () => {
    const { attempted, after } = healthOf({});
    attempted(FAILED);
    expect(await after(SAMPLE_MS)).toHaveLength(1);
    attempted(FAILED);
    expect(await after(SAMPLE_MS - 2_000)).toEqual([]);
    expect(await after(2_000)).toHaveLength(1);
  });

  test('is not looked at while its breaker is open: only probes count', async () => {
    const breaker = { state: 'open', trips: 1, probes: 0, changedAtMs: 0 } as const;
    const { attempted, after } = healthOf({ breaker });
    attempted(FAILED);
    expect(await after(2 * SAMPLE_MS)).toEqual([]);
  });

  test('is forgotten with its project', async () => {
    const { cache, attempted, after } = healthOf({});
    attempted(FAILED);
    const routing = cache.current;
    cache.current = undefined;
    await after(1_000);
    cache.current = routing;
    expect(await after(2 * SAMPLE_MS)).toEqual([]);
  });
});

test('an endpoint that succeeds is not looked at', async () => {
  const { attempted, after } = healthOf({});
  attempted(SUCCEEDED);
  expect(await after(2 * SAMPLE_MS)).toEqual([]);
});

describe('a 410', () => {
  const GONE = failedBy('gone');
  const reason = 'it answered 410 Gone';

  test('is passed on at once, with the version of the endpoint it is about', async () => {
    const { attempted, after } = healthOf({});
    attempted(GONE);
    expect(await after(0)).toEqual([{ ...at, kind: 'gone', key: 'gone e', last, reason }]);
  });

  test('is passed on where the config of the project is not in memory', async () => {
    const { attempted, after } = healthOf(undefined);
    attempted(GONE);
    expect(await after(0)).toEqual([{ ...at, seen: undefined, kind: 'gone', key: 'gone e', last, reason }]);
  });
});

test('an answer that asks to be disabled is passed on, also that of a success', async () => {
  const { attempted, after } = healthOf({});
  const outcome = answered(200, { 'webhook-delivery': ['Disable'] });
  attempted({ ...SUCCEEDED, exchange: { ...exchange, outcome } });
  expect(await after(0)).toEqual([
    {
      ...at,
      kind: 'gone',
      key: 'gone e',
      reason: 'it answered with webhook-delivery: disable',
      last: { ...last, reason: 'The delivery succeeded' },
    },
  ]);
});

describe('a delivery that used up its tries', () => {
  const EXHAUSTED = failedBy('exhausted');

  test('counts against its endpoint where the project disables endpoints', async () => {
    const { attempted, after } = healthOf({ config: { disable_endpoint: true } });
    attempted(EXHAUSTED);
    expect(await after(0)).toEqual([{ ...at, kind: 'exhausted', key: 'exhausted e', last }]);
  });

  test('does not where the project does not', async () => {
    const { attempted, after } = healthOf({});
    attempted(EXHAUSTED);
    expect(await after(0)).toEqual([]);
  });

  test('is passed on once for any number of them that wait', async () => {
    const { attempted, after } = healthOf({ config: { disable_endpoint: true } });
    attempted(EXHAUSTED);
    attempted(EXHAUSTED);
    expect(await after(0)).toHaveLength(1);
  });
});

describe('a probe', () => {
  const fence = { endpointId: 'e', fence: '3' };

  test('that failed says how', async () => {
    const { attempted, after } = healthOf({});
    attempted(FAILED, probe);
    expect(await after(0)).toEqual([{ ...at, kind: 'probed', probe: fence, failure: last }]);
  });

  test('that succeeded says so, and each one counts', async () => {
    const { attempted, after } = healthOf({});
    attempted(SUCCEEDED, probe);
    attempted(SUCCEEDED, probe);
    const success = { ...at, kind: 'probed', probe: fence, failure: null };
    expect(await after(0)).toEqual([success, success]);
  });

  test('that was handed back gives its right back', async () => {
    const { health, after } = healthOf({});
    health.notProbed(leasedDelivery(probe));
    health.notProbed(leasedDelivery());
    const back = { projectId: 'p', endpointId: 'e', kind: 'not probed', probe: fence };
    expect(await after(0)).toEqual([back]);
  });
});

test('the stop waits for what was found, and no look follows it', async () => {
  const { health, states, attempted, after } = healthOf({});
  attempted(FAILED);
  attempted(FAILED, probe);
  const stopped = Promise.all([health.stop(), states.drain()]);
  expect(await after(1_000)).toHaveLength(1);
  await stopped;
  expect(await after(2 * SAMPLE_MS)).toEqual([]);
});
