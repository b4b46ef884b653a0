import { describe, expect, it } from 'vitest';
import { CallQueue, type QueuedCall } from './call-queue.ts';
import { completeLimits } from './contract.ts';
import { RunTimes } from './run-times.ts';
import { Suspects } from './suspects.ts';

function queued(tenant: string, version: string, input = ''): QueuedCall {
  const call = {
    kind: 'run',
    code: '',
    version,
    tenant,
    input,
    seed: '',
    nowMs: 0,
    limits: completeLimits(),
  } as const;
  return { call, settle: () => {}, losses: 0 };
}

const keyOf = (tenant: string, version: string) => JSON.stringify([tenant, version, 'run']);

function queueOf(limits = { calls: 1_000, bytes: 1_000_000 }) {
  const times = new RunTimes();
  const suspects = new Suspects();
  return { times, suspects, queue: new CallQueue(limits, times, suspects) };
}

describe('CallQueue', () => {
  it('is empty to begin with', () => {
    const { queue } = queueOf();
    expect(queue.take('general')).toBeUndefined();
    expect(queue.waitingCalls).toBe(0);
    expect(queue.takeAll()).toEqual([]);
  });

  it('gives calls of one function in order, one by one while unproven and in batches once quick', () => {
    const { times, queue } = queueOf();
    const calls = Array.from({ length: 10 }, (_, i) => queued('a', 'f', `${i}`));
    for (const each of calls) queue.add(each);
    expect(queue.take('quick')).toBeUndefined();
    expect(queue.take('general')?.calls).toEqual([calls[0]]);
    times.learn(keyOf('a', 'f'), 0.1);
    expect(queue.take('quick')).toMatchObject({ calls: calls.slice(1) });
    expect(queue.waitingCalls).toBe(0);
  });

  it('cuts a batch by the bytes it would carry', () => {
    const { times, queue } = queueOf({ calls: 100, bytes: 100_000_000 });
    times.learn(keyOf('a', 'f'), 0.1);
    for (let i = 0; i < 4; i += 1) queue.add(queued('a', 'f', 'x'.repeat(400_000)));
    expect(queue.take('general')?.calls.length).toBe(2);
    queue.add(queued('b', 'g', 'x'.repeat(4_000_000)));
    expect(queue.take('general')?.calls.length).toBe(1);
  });

  it('serves tenants by the time they used, not by the calls they queued', () => {
    const { queue } = queueOf();
    for (let i = 0; i < 100; i += 1) queue.add(queued('slow', 'f', `${i}`));
    for (let i = 0; i < 20; i += 1) queue.add(queued('brief', 'g', `${i}`));
    const served = { slow: 0, brief: 0 };
    for (let i = 0; i < 22; i += 1) {
      const batch = queue.take('general')!;
      served[batch.tenant as 'slow' | 'brief'] += 1;
      queue.charge(batch, batch.tenant === 'slow' ? 100 : 5, 0);
    }
    expect(served.slow).toBeLessThanOrEqual(3);
    expect(served.brief).toBeGreaterThanOrEqual(19);
  });

  it('gives an idle tenant no credit for its absence', () => {
    const { queue } = queueOf();
    const serve = (times: number) => {
      const tenants: string[] = [];
      for (let i = 0; i < times; i += 1) {
        const batch = queue.take('general')!;
        queue.charge(batch, 10, 0);
        tenants.push(batch.tenant);
      }
      return tenants;
    };
    queue.add(queued('away', 'g'));
    queue.add(queued('busy', 'f'));
    serve(2);
    for (let i = 0; i < 100; i += 1) queue.add(queued('busy', 'f'));
    serve(50);
    for (let i = 0; i < 50; i += 1) queue.add(queued('away', 'g'));
    expect(serve(20).filter((tenant) => tenant === 'away').length).toBeLessThanOrEqual(11);
  });

  it('takes turns among the functions of a tenant', () => {
    const { queue } = queueOf();
    for (const version of ['f', 'f', 'f', 'g', 'h']) queue.add(queued('a', version));
    const order = Array.from({ length: 5 }, () => queue.take('general')?.calls[0]?.call.version);
    expect(order).toEqual(['f', 'g', 'h', 'f', 'f']);
  });

  it('finds a quick call behind slow calls of the same tenant', () => {
    const { times, queue } = queueOf();
    times.learn(keyOf('a', 'quick'), 0.1);
    times.learn(keyOf('a', 'slow'), 100);
    queue.add(queued('a', 'slow'));
    queue.add(queued('a', 'quick'));
    expect(queue.take('quick')?.calls[0]?.call.version).toBe('quick');
    expect(queue.take('quick')).toBeUndefined();
  });

  it('is bounded by calls and bytes, and each tenant by half of them', () => {
    const { queue } = queueOf({ calls: 4, bytes: 100 });
    expect(['a', 'a', 'a', 'b', 'b', 'c'].map((tenant) => queue.add(queued(tenant, 'f')))).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
    queue.takeAll();
    expect(queue.add(queued('a', 'f', 'x'.repeat(51)))).toBe(false);
    expect(queue.add(queued('a', 'f', 'x'.repeat(50)))).toBe(true);
  });

  it('gives calls that were put back first and one by one', () => {
    const { times, queue } = queueOf();
    times.learn(keyOf('a', 'f'), 0.1);
    const calls = Array.from({ length: 3 }, (_, i) => queued('a', 'f', `${i}`));
    for (const each of calls) queue.add(each);
    const batch = queue.take('general')!;
    const late = queued('a', 'f', 'late');
    queue.add(late);
    for (const each of batch.calls) each.losses += 1;
    queue.putBack(batch.calls);
    const again = Array.from({ length: 4 }, () => queue.take('general')?.calls);
    expect(again).toEqual([[calls[0]], [calls[1]], [calls[2]], [late]]);
    expect(queue.waitingCalls).toBe(0);
  });
});

describe('RunTimes', () => {
  it('treats an unknown function as slow and a proven one as quick', () => {
    const times = new RunTimes();
    expect(times.isQuick('f')).toBe(false);
    times.learn('f', 1);
    expect(times.isQuick('f')).toBe(true);
  });

  it('forgets a slow run only after many quick ones', () => {
    const times = new RunTimes();
    times.learn('f', 100);
    for (let i = 0; i < 10; i += 1) times.learn('f', 0.1);
    expect(times.isQuick('f')).toBe(false);
    for (let i = 0; i < 30; i += 1) times.learn('f', 0.1);
    expect(times.isQuick('f')).toBe(true);
  });

  it('evicts the least recently seen functions', () => {
    const times = new RunTimes();
    for (let i = 0; i <= 10_000; i += 1) times.learn(`f${i}`, 0.1);
    expect(times.isQuick('f0')).toBe(false);
    expect(times.isQuick('f1')).toBe(true);
  });

  it('runs the calls of suspects in their own process only', () => {
    const { times, suspects, queue } = queueOf();
    for (const name of ['poison', 'healthy']) times.learn(keyOf('bad', name), 0.1);
    times.learn(keyOf('good', 'f'), 0.1);
    for (const name of ['poison', 'new']) queue.add(queued('bad', name));
    suspects.add({ tenant: 'bad', functionKey: keyOf('bad', 'poison') });
    expect(queue.take('quick')).toBeUndefined();
    expect(queue.take('general')).toBeUndefined();
    expect(queue.hasWorkFor('suspect')).toBe(true);
    queue.add(queued('good', 'f'));
    queue.add(queued('bad', 'healthy'));
    const forSuspects = [queue.take('suspect'), queue.take('suspect'), queue.take('suspect')];
    expect(forSuspects.map((batch) => batch?.functionKey)).toEqual([
      keyOf('bad', 'poison'),
      keyOf('bad', 'new'),
      undefined,
    ]);
    const forOthers = [queue.take('quick'), queue.take('quick')].map((batch) => batch?.functionKey);
    expect(new Set(forOthers)).toEqual(new Set([keyOf('bad', 'healthy'), keyOf('good', 'f')]));
  });

  it('counts the time of failed calls twice', () => {
    const { queue } = queueOf();
    for (let i = 0; i < 100; i += 1) for (const tenant of ['fails', 'works']) queue.add(queued(tenant, 'f'));
    const served = { fails: 0, works: 0 };
    for (let i = 0; i < 60; i += 1) {
      const batch = queue.take('general')!;
      queue.charge(batch, 10, batch.tenant === 'fails' ? 1 : 0);
      served[batch.tenant as 'fails' | 'works'] += 1;
    }
    expect(served).toEqual({ fails: 20, works: 40 });
  });

  it('keeps a quick function that failed recently out of the process for proven functions', () => {
    const { times, queue } = queueOf();
    times.learn(keyOf('a', 'f'), 0.1, true);
    queue.add(queued('a', 'f'));
    expect(queue.take('quick')).toBeUndefined();
    for (let i = 0; i < 22; i += 1) times.learn(keyOf('a', 'f'), 0.1);
    expect(queue.take('quick')?.calls.length).toBe(1);
  });
});
