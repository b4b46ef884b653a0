import { describe, expect, test } from 'vitest';
import { type LeasedFields, leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { answered, unanswered } from '../../../test/support/samples/outcomes.ts';
import { OneProject, type RoutingFields, routingOf } from '../../../test/support/samples/routing.ts';
import type { AuthResult } from '../../dispatch/client/endpoint-auth.ts';
import type { OutgoingRequest } from '../../dispatch/client/http-client.ts';
import type { ErrorCode, Outcome } from '../../dispatch/connection/outcome.ts';
import { IdFactory } from '../../domain/ids.ts';
import { SealError, Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import { systemClock } from '../../platform/time/clock.ts';
import type { FunctionResult } from '../../sandbox/contract.ts';
import { RateGroup } from '../limits/rate-group.ts';
import { DeliverySender } from './delivery-sender.ts';

/** The collaborators of a sender. Each test changes the one it is about. */
interface World {
  config: RoutingFields | null;
  outcome: Outcome | ((request: OutgoingRequest) => Outcome);
  auth: AuthResult;
  function: FunctionResult;
  maySend: boolean;
  nowMs: number;
  isStillOurs: boolean;
  /** Undefined: another node counts the rate limits. */
  group: RateGroup | undefined;
}

function worldOf(fields: Partial<World>) {
  const world: World = {
    config: {},
    outcome: answered(200),
    auth: { kind: 'headers', headers: [] },
    function: { ok: true, output: '{"made":1}' } as FunctionResult,
    maySend: true,
    nowMs: NOON,
    isStillOurs: true,
    group: undefined,
    ...fields,
  };
  const requests: OutgoingRequest[] = [];
  const done: string[] = [];
  const cache = new OneProject(world.config && routingOf(world.config));
  const sender = new DeliverySender({
    cache,
    http: {
      send: async (request) => {
        requests.push(request);
        return typeof world.outcome === 'function' ? world.outcome(request) : world.outcome;
      },
    },
    messages: { send: async () => Promise.reject(new Error('no endpoint here has a broker')) },
    auth: { headers: async () => world.auth, invalidate: () => void done.push('invalidate') },
    sandbox: {
      run: async () => {
        done.push('function');
        return world.function;
      },
    },
    sealer: new Sealer([Buffer.alloc(32, 1)]),
    ids: new IdFactory(() => NOON),
    now: () => world.nowMs,
    markStarted: async () => {
      done.push('mark started');
      return world.isStillOurs;
    },
    maySend: () => world.maySend,
    rateLeases: { generation: 1, groupOf: () => world.group, left: () => undefined },
    tracer: null,
  });
  const send = (delivery: LeasedFields = {}) =>
    sender.send(leasedDelivery(delivery), new AbortController().signal);
  return { world, cache, requests, done, send };
}

/** Nothing used up, due at once. */
const BACK = {
  verdict: 'untried',
  status: 'Scheduled',
  delayMs: 0,
  numTrials: 0,
  attempt: null,
  description: null,
};
const OUR_FAULT = { verdict: 'untried', status: 'Scheduled', delayMs: 5_000, numTrials: 0 };
const open = { state: 'open', trips: 1, probes: 0, changedAtMs: NOON } as const;

describe('before a request is made', () => {
  test.each<[string, RoutingFields | null, string]>([
    ['project was deleted', null, 'The project was deleted.'],
    ['endpoint was deleted', { endpoint: null }, 'The endpoint was deleted.'],
    ['endpoint is inactive', { endpoint: { status: 'inactive' } }, 'The endpoint is inactive'],
  ])('a delivery whose %s is discarded', async (_, config, description) => {
    const { requests, send } = worldOf({ config });
    const sent = await send();
    expect([sent.verdict, sent.status, sent.delayMs]).toEqual(['untried', 'Discarded', null]);
    expect(sent.description).toContain(description);
    expect(requests).toEqual([]);
  });

  test('a delivery that goes at most once and was begun before is not sent again', async () => {
    const { requests, send } = worldOf({});
    const sent = await send({ isStarted: true, deliveryMode: 'at_most_once' });
    expect(sent).toMatchObject({ status: 'Failure', attempt: null });
    expect(requests).toEqual([]);
  });

  test.each<[string, RoutingFields]>([
    ['a paused endpoint', { endpoint: { status: 'paused' } }],
    ['an open breaker', { breaker: open }],
    ['a half-open breaker', { breaker: { ...open, changedAtMs: 0 } }],
  ])(
    'a delivery for %s goes back to the queue, from the key of a deleted subscription to that of its endpoint',
    async (_, config) => {
      const { requests, send } = worldOf({ config });
      expect(await send()).toMatchObject(BACK);
      const sent = await send({ key: 'deleted', subscriptionId: 'deleted' });
      expect(sent).toMatchObject({ ...BACK, key: 'e' });
      expect(requests).toEqual([]);
    },
  );

  test('a probe is sent though the breaker is open', async () => {
    const { send } = worldOf({ config: { breaker: open } });
    expect(await send({ probeFence: '1' })).toMatchObject({ verdict: 'success' });
  });

  test('a delivery whose secrets cannot be opened waits for 5 s, without running its function', async () => {
    const sealed = Secret.sealed(() => {
      throw new SealError('no key');
    });
    const { requests, done, send } = worldOf({
      config: { endpoint: { secret: sealed as never }, subscription: { function: 'code' } },
    });
    expect(await send()).toMatchObject(OUR_FAULT);
    expect([requests, done]).toEqual([[], []]);
  });

  test.each([
    ['is damaged', Buffer.from('no sealed value')],
    ['is empty', Buffer.alloc(0)],
    ['has the key of another', new Sealer([Buffer.alloc(32, 2)]).seal('{}', 'elsewhere')],
  ])('a delivery whose stored request of a function %s waits for 5 s', async (_, stored) => {
    const { requests, done, send } = worldOf({ config: { subscription: { function: 'code' } } });
    const sent = await send({ functionRequest: stored.toString('base64') });
    expect(sent).toMatchObject(OUR_FAULT);
    expect(sent.description).toMatch(/request that its function made cannot be opened/);
    expect([requests, done]).toEqual([[], []]);
  });

  test('a delivery goes back where this node may not send any more', async () => {
    const { requests, done, send } = worldOf({ maySend: false });
    expect(await send({ deliveryMode: 'at_most_once' })).toMatchObject(BACK);
    expect([requests, done]).toEqual([[], []]);
  });

  test('a delivery that goes at most once is marked first, and goes back where it is not ours', async () => {
    const ours = worldOf({});
    expect(await ours.send({ deliveryMode: 'at_most_once' })).toMatchObject({ verdict: 'success' });
    expect(ours.done).toEqual(['mark started']);
    const lost = worldOf({ isStillOurs: false });
    expect(await lost.send({ deliveryMode: 'at_most_once' })).toMatchObject(BACK);
    expect(lost.requests).toEqual([]);
    const usual = worldOf({ isStillOurs: false });
    await usual.send();
    expect(usual.done).toEqual([]);
  });
});

describe('the function of a subscription', () => {
  const config = { subscription: { function: 'code' } };

  test('makes the body, and it is kept for later tries', async () => {
    const { requests, send } = worldOf({ config, outcome: answered(500) });
    const sent = await send();
    expect(requests[0]?.body.toString()).toBe('{"made":1}');
    expect(sent.body?.toString()).toBe('{"made":1}');
  });

  test('does not run for a delivery that has its body', async () => {
    const { requests, done, send } = worldOf({ config });
    expect((await send({ hasOwnBody: true })).body).toBeNull();
    expect(requests[0]?.body.toString()).toBe('{"a":1}');
    expect(done).toEqual([]);
  });

  test('ends its delivery where it fails', async () => {
    const failed = { ok: false, ours: false, message: 'thrown' } as FunctionResult;
    const { requests, send } = worldOf({ config, function: failed });
    expect(await send()).toMatchObject({ status: 'Failure', delayMs: null, attempt: null });
    expect(requests).toEqual([]);
  });

  test('runs again in 5 s where the sandbox failed', async () => {
    const lost = { ok: false, ours: true, message: 'lost' } as FunctionResult;
    expect(await worldOf({ config, function: lost }).send()).toMatchObject(OUR_FAULT);
  });
});

describe('credentials', () => {
  const config = {
    secrets: {
      authentication: { type: 'api_key', api_key: { header_name: 'X-Mine', header_value: 'value' } },
      mtls_client_cert: { client_cert: 'cert', client_key: 'key' },
    } as const,
    subscription: { function: 'code' },
  };
  const failed = (fields: object) =>
    ({ kind: 'failed', message: 'no token', ours: false, permanent: false, ...fields }) as AuthResult;

  test('are sent, and not recorded', async () => {
    const auth: AuthResult = { kind: 'headers', headers: [['X-Mine', 'value']] };
    const { requests, send } = worldOf({ config, auth });
    const sent = await send();
    expect(requests[0]?.headers).toContainEqual(['X-Mine', 'value']);
    expect(requests[0]?.clientCertificate).toEqual({ cert: 'cert', key: 'key' });
    expect(sent.attempt?.requestHeaders).not.toContain('value');
  });

  test('that cannot be had are asked for again after the interval, with the body kept', async () => {
    const { requests, send } = worldOf({ config, auth: failed({}) });
    const sent = await send();
    expect([sent.verdict, sent.delayMs, sent.description]).toEqual(['untried', 10_000, 'no token']);
    expect(sent.body?.toString()).toBe('{"made":1}');
    expect(requests).toEqual([]);
  });

  test('that never can be had end the delivery', async () => {
    const { send } = worldOf({ config, auth: failed({ permanent: true }) });
    expect(await send()).toMatchObject({ status: 'Failure', delayMs: null });
  });

  test('that our own fault keeps away are asked for again in 5 s', async () => {
    expect(await worldOf({ config, auth: failed({ ours: true }) }).send()).toMatchObject(OUR_FAULT);
  });

  test.each([
    [401, ['invalidate']],
    [403, []],
  ])('after %i: %j', async (status, expected) => {
    const { done, send } = worldOf({ outcome: answered(status) });
    await send();
    expect(done).toEqual(expected);
  });
});

describe('the request', () => {
  test.each([
    [0, 10, 10_000],
    [0, 20, 20_000],
    [30, 20, 30_000],
    [500, 20, 120_000],
  ])(
    'with an http_timeout of %i, and %i of the project, ends after %i ms',
    async (own, ofProject, timeoutMs) => {
      const config = { endpoint: { http_timeout: own }, config: { http_timeout: ofProject } };
      const { requests, send } = worldOf({ config });
      await send();
      expect(requests).toMatchObject([{ timeoutMs, maxResponseBytes: 51_200 }]);
      expect(requests[0]?.turn).toBeUndefined();
      expect(requests[0]?.clientCertificate).toBeUndefined();
    },
  );

  test('to a form endpoint has the fields of a JSON object as a form', async () => {
    const config = { endpoint: { content_type: 'application/x-www-form-urlencoded' } };
    const { requests, send } = worldOf({ config });
    await send();
    await send({ contentType: 'text/plain', body: Buffer.from('text') });
    await send({ body: Buffer.from('[1]') });
    expect(requests.map(({ body }) => body.toString())).toEqual(['a=1', 'text', '[1]']);
  });
});

describe('the outcome', () => {
  test('of a success is recorded with its attempt', async () => {
    const sent = await worldOf({}).send();
    expect(sent).toMatchObject({ verdict: 'success', status: 'Success', numTrials: 1, body: null });
    expect(sent.attempt).toMatchObject({ httpStatus: '200 Some', succeeded: true });
  });

  test.each<[number | ErrorCode, boolean]>([
    [429, true],
    [500, true],
    [503, true],
    [499, false],
    [404, false],
    ['timeout', true],
    ['response_too_slow', true],
    ['connection_refused', true],
    ['connection_reset', true],
    ['dns_failed', false],
    ['tls_failed', false],
  ])('%s shows strain: %j', async (what, isStrain) => {
    const outcome = typeof what === 'number' ? answered(what) : unanswered(what);
    const sent = await worldOf({ outcome }).send();
    expect(sent).toMatchObject({ verdict: 'failed', isStrain, numTrials: 1 });
    expect(sent.attempt).toMatchObject({ succeeded: false });
  });

  test('of our own fault is no attempt', async () => {
    const outcome = unanswered('local_resource', { ours: true });
    expect(await worldOf({ outcome }).send()).toMatchObject({
      ...OUR_FAULT,
      ...OUR_FAULT,
      attempt: null,
    });
  });

  test('of a dropped connection is an attempt, and says nothing of the endpoint', async () => {
    const outcome = unanswered('connection_reset', { dropped: true });
    const sent = await worldOf({ outcome }).send();
    expect(sent).toMatchObject({ verdict: 'dropped', isSecondRequest: true, numTrials: 0 });
    expect(sent.attempt).not.toBeNull();
  });

  test('of a request that a stop cut off is tried again, except at most once', async () => {
    const outcome = unanswered('aborted', { ours: true });
    expect(await worldOf({ outcome }).send()).toMatchObject(BACK);
    const once = await worldOf({ outcome }).send({ deliveryMode: 'at_most_once' });
    expect(once).toMatchObject({ status: 'Failure', delayMs: null, attempt: null });
  });
});

const limited = { endpoint: { rate_limit: 1, rate_limit_duration: 60 } };
const groupOf = () => new RateGroup({ epoch: 1, quietMs: 1_000_000, sends: null }, systemClock);
/** As an HTTP client, it asks for the turn before it writes the request. */
const askTurn = (request: OutgoingRequest): Outcome =>
  request.turn?.take() === 'now' ? answered(200) : unanswered('aborted', { ours: true });

test.each([{}, limited])(
  'a delivery that expires before its first byte is discarded unwritten: %o',
  async (config) => {
    const expiresAtMs = NOON + 1_000;
    const description = 'Expired at 2026-06-01T12:00:01.000Z before it was delivered.';
    const ended = { verdict: 'untried', status: 'Discarded', attempt: null, description };
    const late = worldOf({ config, group: groupOf(), nowMs: expiresAtMs });
    expect([await late.send({ expiresAtMs }), late.requests]).toMatchObject([ended, []]);
    for (const passes of [999, 1_000]) {
      const { world, send } = worldOf({
        config,
        group: groupOf(),
        outcome: (request) => {
          world.nowMs += passes;
          return askTurn(request);
        },
      });
      expect(await send({ expiresAtMs })).toMatchObject(passes === 999 ? { verdict: 'success' } : ended);
    }
  },
);

describe('under a rate limit', () => {
  const config = { ...limited, subscription: { function: 'code' } };

  test('a delivery goes back where another node counts the limit', async () => {
    const { requests, send } = worldOf({ config });
    expect(await send()).toMatchObject(BACK);
    expect(requests).toEqual([]);
  });

  test('a delivery that goes back waits under the key of a subscription with a limit of its own', async () => {
    const subscription = { rate_limit_config: { count: 1, duration: 1 } };
    expect((await worldOf({ config: { subscription } }).send()).key).toBe('s');
  });

  test('a send is counted when its turn comes', async () => {
    const { world, send } = worldOf({ config, group: groupOf(), outcome: askTurn });
    expect(await send()).toMatchObject({ verdict: 'success' });
    const asked = { wanted: 1, taken: new Map(), endpointId: 'e' };
    const limits = [{ key: 'e', limit: { count: 1, durationMs: 60_000 } }];
    expect(world.group?.allowance(limits, asked).count).toBe(0);
  });

  test('a delivery whose gate closed while it waited goes back unwritten, with its body kept', async () => {
    const { cache, send } = worldOf({
      config,
      group: groupOf(),
      outcome: (request) => {
        cache.current = routingOf({ ...config, endpoint: { ...limited.endpoint, status: 'paused' } });
        return askTurn(request);
      },
    });
    const sent = await send();
    expect(sent).toMatchObject(BACK);
    expect(sent.body?.toString()).toBe('{"made":1}');
  });

  test.each([
    ['became inactive', { ...limited.endpoint, status: 'inactive' } as const],
    ['was deleted', null],
  ])('a delivery whose endpoint %s while it waited is discarded', async (_how, endpoint) => {
    const { cache, send } = worldOf({
      config,
      group: groupOf(),
      outcome: (request) => {
        cache.current = routingOf({ ...config, endpoint });
        return askTurn(request);
      },
    });
    expect(await send()).toMatchObject({ status: 'Discarded', delayMs: null, body: null });
  });

  test('a delivery goes back where the lease of the node ended while it waited', async () => {
    const { world, send } = worldOf({
      config,
      group: groupOf(),
      outcome: (request) => {
        world.maySend = false;
        return askTurn(request);
      },
    });
    expect(await send()).toMatchObject(BACK);
  });

  test('a request that failed before it was written counts, unless the fault was ours', async () => {
    const limits = [{ key: 'e', limit: { count: 1, durationMs: 60_000 } }];
    for (const ours of [false, true]) {
      const outcome = unanswered('connection_refused', { ours });
      const { world, send } = worldOf({ config, group: groupOf(), outcome });
      await send();
      const asked = { wanted: 1, taken: new Map(), endpointId: 'e' };
      expect(world.group?.allowance(limits, asked).count).toBe(ours ? 1 : 0);
    }
  });
});
