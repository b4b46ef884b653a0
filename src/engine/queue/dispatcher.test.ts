import { describe, expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { type LeasedFields, leasedDelivery } from '../../../test/support/samples/leased-delivery.ts';
import { ManualClock, settle } from '../../../test/support/samples/manual-clock.ts';
import { answered } from '../../../test/support/samples/outcomes.ts';
import { LANE, type LeasedBatch, type LeasedMetaEvent } from '../../domain/delivery.ts';
import type { Destination } from '../../domain/delivery-sink.ts';
import { asId, type EndpointId, type SubscriptionId } from '../../domain/ids.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import type { AnyFinish } from '../../store/queue/finish.ts';
import { back, type Sent } from '../attempt/sent.ts';
import { Dispatcher } from './dispatcher.ts';
import { Lease } from './lease.ts';

interface Sending {
  signal: AbortSignal;
  end(sent: Sent | Error): void;
}

const BROKER = 'broker';

/** A dispatcher whose sends end when the test says so. What it tells the others is noted in order. */
function dispatcherOf(options: { window?: number; endpointConcurrency?: number } = {}) {
  const clock = new ManualClock();
  const lease = new Lease(clock);
  const beat = () => lease.confirmed(clock.now(), clock.elapsed());
  beat();
  const sending = new Map<string, Sending>();
  const recorded: AnyFinish[] = [];
  const calls: unknown[][] = [];
  /** Deliveries that left, each followed by the word of their place. */
  const freed: string[] = [];
  const record = { answer: true as boolean | Error };
  const dispatcher = new Dispatcher({
    sender: {
      send: (delivery, signal) =>
        new Promise((resolve, reject) => {
          const { id } = delivery;
          const end = (sent: Sent | Error) => {
            sending.delete(id);
            if (sent instanceof Error) reject(sent);
            else resolve({ ...sent, delivery, ...(delivery.kind === 'batch' && NO_MEMBERS) } as Sent);
          };
          sending.set(id, { signal, end });
        }),
    },
    finisher: {
      finish: async (finish) => {
        recorded.push(finish);
        if (record.answer instanceof Error) throw record.answer;
        return record.answer;
      },
    },
    lease,
    left: (id) => void freed.push(id),
    clock,
    metrics: createMetrics().metrics,
    log: quietLog,
    window: 10,
    endpointConcurrency: 100,
    sharesConnection: ({ endpointId }) => endpointId === BROKER,
    queue: {
      waiting: ({ projectId, key, lane }, dueInMs) =>
        void calls.push(['waiting', projectId, key, lane, dueInMs]),
      roomFreed: () => void freed.push('room'),
      unsure: (rows) => void calls.push(['unsure', ...rows.map(({ projectId, id }) => `${projectId} ${id}`)]),
    },
    outcomes: {
      attempted: ({ delivery: { id } }) => void calls.push(['attempted', id]),
      notProbed: ({ id }) => void calls.push(['not probed', id]),
    },
    ...options,
  });
  const place = (id: string, endpointId = 'e', projectId = 'p', places = 1) =>
    dispatcher.reserve(id, to(projectId, endpointId), places);
  const claim = (id: string, endpointId = 'e', projectId = 'p', places = 1) =>
    dispatcher.reserveClaimed(id, to(projectId, endpointId), places);
  const start = (id: string, fields: LeasedFields = {}) => {
    const delivery = leasedDelivery({ id, ...fields, target: fields.endpointId ?? 'e' });
    claim(id, delivery.endpointId, delivery.projectId);
    dispatcher.start(delivery);
    return delivery;
  };
  const end = async (id: string, sent: Sent | Error) => {
    sending.get(id)?.end(sent);
    await settle();
  };
  return { dispatcher, clock, beat, sending, recorded, calls, freed, record, place, claim, start, end };
}

const to = (projectId: string, endpointId: string): Destination => ({
  projectId: asId(projectId),
  endpointId: asId<EndpointId>(endpointId),
});

const NO_MEMBERS = { members: [], parts: [] };

/** How many of many tries to take a place succeeded. */
const taken = (take: (id: string) => boolean) =>
  Array.from({ length: 100 }, (_, n) => take(`d${n}`)).filter(Boolean).length;

const exchange = { outcome: answered(500), requestBytes: 7, trace: null };
const metaEvent = { id: 'meta' } as NewMetaEvent;
const finish = back(leasedDelivery());
const ENDED: Sent = { ...finish, verdict: 'success', exchange, status: 'Success', delayMs: null };
const UNTRIED: Sent = finish;
const failedWith = (fields: Partial<typeof finish> = {}): Sent => ({
  ...finish,
  delayMs: 5_000,
  ...fields,
  verdict: 'failed',
  exchange,
});
const STRAINED: Sent = { ...failedWith(), isStrain: true };

describe('the window', () => {
  test('has room for new events of many endpoints and projects in four fifths', () => {
    const { dispatcher, place } = dispatcherOf({ window: 100 });
    expect(taken((id) => place(id, id, id))).toBe(80);
    expect(dispatcher.free).toBe(20);
  });

  test('has room for claims in the rest', () => {
    const { dispatcher, place, claim } = dispatcherOf({ window: 100 });
    taken((id) => place(id, id, id));
    expect(taken((id) => claim(`claimed ${id}`, id, id))).toBe(20);
    expect(dispatcher.free).toBe(0);
  });

  test('has room for one endpoint in half of it', () => {
    const { dispatcher, claim } = dispatcherOf({ window: 100 });
    expect(dispatcher.room('e')).toBe(50);
    expect(taken((id) => claim(id, 'e', id))).toBe(50);
    expect([dispatcher.room('e'), dispatcher.room('other')]).toEqual([0, 50]);
  });

  test('leaves room for others where one project sends all the new events', () => {
    const { dispatcher, place } = dispatcherOf({ window: 100 });
    const ofOne = taken((id) => place(id, id, 'greedy'));
    expect(ofOne).toBeGreaterThan(40);
    expect(ofOne).toBeLessThan(80);
    expect(place('other', 'other', 'modest')).toBe(true);
    expect(dispatcher.projectRoom('modest')).toBeGreaterThan(dispatcher.projectRoom('greedy'));
  });

  test('has one place for a window of one, and none for a window of none', () => {
    expect(taken(dispatcherOf({ window: 1 }).claim)).toBe(1);
    const closed = dispatcherOf({ window: 0 });
    expect([taken(closed.claim), taken(closed.place)]).toEqual([0, 0]);
  });

  test('has a delivery once', () => {
    const { dispatcher, place, claim } = dispatcherOf();
    expect([place('d'), place('d'), claim('d')]).toEqual([true, false, false]);
    expect([dispatcher.has('d'), dispatcher.free, dispatcher.isBusy('e')]).toEqual([true, 9, true]);
  });

  test('gets the place back of a delivery that was not stored, once', () => {
    const { dispatcher, freed, place } = dispatcherOf();
    place('d');
    const room = dispatcher.projectRoom('p');
    place('other');
    dispatcher.unreserve('d');
    dispatcher.unreserve('d');
    expect([dispatcher.has('d'), dispatcher.free, dispatcher.room('e')]).toEqual([false, 9, 4]);
    expect(dispatcher.projectRoom('p')).toBe(room);
    expect(freed).toEqual(['d', 'room']);
    dispatcher.unreserve('other');
    expect([dispatcher.free, dispatcher.isBusy('e')]).toEqual([10, false]);
  });

  test('gives a large delivery several places, of which one has to be free', () => {
    const { dispatcher, claim } = dispatcherOf({ window: 100 });
    expect(taken((id) => claim(id, 'e', id, 15))).toBe(4);
    expect([dispatcher.room('e'), dispatcher.free, dispatcher.usage().used]).toEqual([0, 40, 60]);
    expect([claim('huge', 'other', 'p', 1_000), dispatcher.free]).toEqual([true, 15]);
    dispatcher.unreserve('huge');
    dispatcher.unreserve('d0');
    expect([dispatcher.room('e'), dispatcher.free, dispatcher.projectRoom('p')]).toEqual([5, 55, 42]);
  });

  test('of a few places has one delivery that is larger than all of it, and room for others', () => {
    const { dispatcher, claim } = dispatcherOf({ window: 4 });
    expect([claim('huge', 'e', 'p', 1_000), dispatcher.room('e'), dispatcher.free]).toEqual([true, 1, 3]);
    expect(claim('small', 'other', 'q')).toBe(true);
  });

  test('gives new events of one project several places each, and leaves room for others', () => {
    const { dispatcher, place } = dispatcherOf({ window: 100 });
    expect(taken((id) => place(id, id, 'greedy', 20))).toBe(3);
    expect(place('other', 'other', 'modest', 20)).toBe(true);
    expect(dispatcher.free).toBe(20);
  });

  test('takes no new events while the lease is not fresh', async () => {
    const { clock, beat, place, claim } = dispatcherOf();
    await clock.advance(8_000);
    expect([place('new'), claim('claimed')]).toEqual([false, true]);
    beat();
    expect(place('new')).toBe(true);
  });
});

describe('deliveries of an endpoint', () => {
  test('are sent in order, as many at a time as the setting allows', async () => {
    const { dispatcher, sending, start, end } = dispatcherOf({ endpointConcurrency: 2 });
    for (const id of ['a', 'b', 'c', 'd']) start(id);
    expect([...sending.keys()]).toEqual(['a', 'b']);
    expect(dispatcher.usage()).toEqual({ size: 10, used: 4, waiting: 2, sending: 2 });
    await end('b', ENDED);
    expect([...sending.keys()]).toEqual(['a', 'c']);
  });

  test('are sent eight times as many at a time to a broker, once it has confirmed some', async () => {
    const { sending, start, end } = dispatcherOf({ window: 100, endpointConcurrency: 2 });
    for (let n = 0; n < 40; n += 1) start(`d${n}`, { endpointId: BROKER });
    expect(sending.size).toBe(2);
    for (let n = 0; n < 20; n += 1) await end(`d${n}`, ENDED);
    expect(sending.size).toBe(16);
  });

  test('do not wait for those of another endpoint', () => {
    const { sending, start } = dispatcherOf({ endpointConcurrency: 1 });
    start('a');
    start('b');
    start('other', { endpointId: 'other' });
    expect([...sending.keys()]).toEqual(['a', 'other']);
  });

  test('are sent half as many at a time after a strain, at most once in half a second', async () => {
    const { clock, sending, start, end } = dispatcherOf({ window: 100, endpointConcurrency: 4 });
    for (let n = 0; n < 20; n += 1) start(`d${n}`);
    expect(sending.size).toBe(4);
    for (const id of ['d0', 'd1', 'd2']) await end(id, STRAINED);
    expect(sending.size).toBe(2);
    await clock.advance(500);
    await end('d3', STRAINED);
    expect(sending.size).toBe(1);
  });

  test('are sent one at a time after the breaker closed, and one more after each success', async () => {
    const { dispatcher, sending, start, end } = dispatcherOf();
    dispatcher.restartCap('e');
    for (const id of ['a', 'b', 'c', 'd']) start(id);
    expect([...sending.keys()]).toEqual(['a']);
    await end('a', failedWith());
    expect([...sending.keys()]).toEqual(['b']);
    await end('b', ENDED);
    expect([...sending.keys()]).toEqual(['c', 'd']);
  });

  test('wait while the lease is not fresh, and go when it is again', async () => {
    const { dispatcher, clock, beat, sending, start } = dispatcherOf();
    await clock.advance(8_000);
    start('a');
    expect(sending.size).toBe(0);
    beat();
    dispatcher.resume();
    expect([...sending.keys()]).toEqual(['a']);
  });
});

describe('an outcome', () => {
  test('is recorded, frees the place and notifies the listener', async () => {
    const { dispatcher, recorded, calls, start, end } = dispatcherOf();
    const delivery = start('a');
    await end('a', ENDED);
    expect(recorded).toEqual([{ ...ENDED, delivery }]);
    expect(dispatcher.has('a')).toBe(false);
    expect(calls).toEqual([['attempted', 'a']]);
  });

  test('after which another try follows tells where the row waits, and for how long', async () => {
    const { calls, start, end } = dispatcherOf();
    start('a');
    await end('a', failedWith({ status: 'Retry', key: asId<SubscriptionId>('s'), lane: LANE.retry }));
    expect(calls).toEqual([
      ['waiting', 'p', 's', LANE.retry, 5_000],
      ['attempted', 'a'],
    ]);
  });

  test('with a meta event tells that one waits', async () => {
    const { calls, start, end } = dispatcherOf();
    start('a');
    await end('a', { ...ENDED, metaEvent });
    expect(calls).toEqual([
      ['waiting', 'p', 'meta:p', LANE.first, 0],
      ['attempted', 'a'],
    ]);
  });

  test('of a delivery that was taken over plans no try and no meta event', async () => {
    const { dispatcher, calls, record, start, end } = dispatcherOf();
    record.answer = false;
    start('a');
    await end('a', failedWith({ metaEvent }));
    expect(calls).toEqual([
      ['unsure', 'p a'],
      ['attempted', 'a'],
    ]);
    expect(dispatcher.has('a')).toBe(false);
  });

  test('of a dropped connection says nothing of the endpoint', async () => {
    const { calls, start, end } = dispatcherOf();
    start('a');
    await end('a', { ...finish, verdict: 'dropped', exchange });
    expect(calls).toEqual([['waiting', 'p', 'e', LANE.first, 0]]);
  });

  test('without an attempt gives the right to probe back', async () => {
    const { calls, start, end } = dispatcherOf();
    start('a', { probeFence: '1' });
    await end('a', UNTRIED);
    expect(calls).toEqual([
      ['waiting', 'p', 'e', LANE.first, 0],
      ['not probed', 'a'],
    ]);
  });

  test('that cannot be recorded frees the place, and leaves the row to a reconciliation', async () => {
    const { dispatcher, calls, record, start, end } = dispatcherOf();
    record.answer = new Error('gone');
    start('a', { probeFence: '1' });
    start('b');
    await end('a', ENDED);
    await end('b', ENDED);
    expect(calls).toEqual([
      ['unsure', 'p a'],
      ['not probed', 'a'],
      ['unsure', 'p b'],
    ]);
    expect(dispatcher.free).toBe(10);
  });

  test('is none where the sender fails: nothing is recorded, and the next delivery goes', async () => {
    const { recorded, sending, calls, start, end } = dispatcherOf({ endpointConcurrency: 1 });
    start('a', { probeFence: '1' });
    start('b');
    await end('a', new Error('bug'));
    expect(recorded).toEqual([]);
    expect(calls).toEqual([
      ['unsure', 'p a'],
      ['not probed', 'a'],
    ]);
    expect([...sending.keys()]).toEqual(['b']);
  });
});

test('the outcome of a meta event says nothing of an endpoint', async () => {
  const { dispatcher, calls, claim, end } = dispatcherOf();
  claim('m', 'meta:p');
  const meta = { ...leasedDelivery(), id: 'm', target: 'meta:p', kind: 'meta' };
  dispatcher.start(meta as unknown as LeasedMetaEvent);
  await end('m', ENDED);
  expect(calls).toEqual([]);
});

test('a node that was silent forgets what is unsent, and keeps what is being sent', async () => {
  const { dispatcher, sending, calls, start } = dispatcherOf({ endpointConcurrency: 1 });
  start('a');
  const unsent = [start('b'), start('c', { probeFence: '1' })];
  expect(dispatcher.forgetUnsent()).toEqual(unsent);
  expect(calls).toEqual([['not probed', 'c']]);
  expect([...sending.keys()]).toEqual(['a']);
  expect([dispatcher.has('a'), dispatcher.has('b'), dispatcher.free]).toEqual([true, false, 9]);
});

test('a delivery that was stored before a silence is not sent after it, and its row is in doubt', () => {
  const { dispatcher, sending, calls, place } = dispatcherOf();
  expect(place('late')).toBe(true);
  dispatcher.forgetUnsent();
  dispatcher.start(leasedDelivery({ id: asId('late') }));
  expect([dispatcher.has('late'), sending.size]).toEqual([false, 0]);
  expect(calls).toEqual([['unsure', 'p late']]);
  expect(place('late')).toBe(true);
  dispatcher.start(leasedDelivery({ id: asId('late') }));
  expect(sending.size).toBe(1);
});

describe('a close', () => {
  test('gives out no more places and hands back what is unsent', async () => {
    const { dispatcher, place, claim, start, end } = dispatcherOf({ endpointConcurrency: 1 });
    start('a');
    const unsent = start('b');
    const closed = dispatcher.close(1_000);
    expect([place('new'), claim('claimed')]).toEqual([false, false]);
    await end('a', ENDED);
    expect(await closed).toEqual([unsent]);
  });

  test('waits until what is being sent is recorded, and cuts nothing off that ends in time', async () => {
    const { dispatcher, clock, sending, recorded, start, end } = dispatcherOf();
    start('a');
    const signal = sending.get('a')?.signal;
    let isClosed = false;
    const closed = dispatcher.close(1_000).then(() => {
      isClosed = true;
    });
    await clock.advance(999);
    expect([isClosed, signal?.aborted]).toEqual([false, false]);
    await end('a', ENDED);
    await closed;
    expect(recorded).toHaveLength(1);
    await clock.advance(1_000);
    expect(signal?.aborted).toBe(false);
  });

  test('cuts off what is being sent when the grace is over, and waits for its outcome', async () => {
    const { dispatcher, clock, sending, recorded, start, end } = dispatcherOf();
    start('a');
    const closed = dispatcher.close(1_000);
    await clock.advance(1_000);
    expect(sending.get('a')?.signal.aborted).toBe(true);
    await end('a', UNTRIED);
    await closed;
    expect(recorded).toHaveLength(1);
  });

  test('of an idle dispatcher leaves no timer', async () => {
    const { dispatcher, clock } = dispatcherOf();
    expect(await dispatcher.close(1_000)).toEqual([]);
    expect(clock.timers).toBe(0);
  });
});

test('deliveries of a batch are known until the last batch that has them is recorded', async () => {
  const { dispatcher, claim, end } = dispatcherOf();
  const startBatch = (id: string, deliveryIds: string[]) => {
    claim(id);
    dispatcher.start({ ...leasedDelivery({ id }), kind: 'batch', deliveryIds } as unknown as LeasedBatch);
  };
  startBatch('x', ['a', 'b']);
  // A part of x, claimed before the answer to the end of x has come.
  startBatch('y', ['a']);
  await end('x', UNTRIED);
  expect([dispatcher.has('a'), dispatcher.has('b')]).toEqual([true, false]);
  await end('y', UNTRIED);
  expect(dispatcher.has('a')).toBe(false);
});
