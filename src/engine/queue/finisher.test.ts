import { describe, expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { leasedDelivery } from '../../../test/support/samples/leased-delivery.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import type { LeasedBatch } from '../../domain/delivery.ts';
import { asId, type EndpointId, type ProjectId } from '../../domain/ids.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { AnyFinish, BatchFinish, Finish } from '../../store/queue/finish.ts';
import { groupFinish } from '../batching/regroup.ts';
import { Finisher } from './finisher.ts';

const attempt: Attempt = {
  id: 'attempt',
  url: 'http://127.0.0.1/',
  ipAddress: null,
  httpStatus: '200 OK',
  outcome: 'http_200',
  error: null,
  succeeded: true,
  requestHeaders: {},
  responseHeaders: {},
  responseBody: Buffer.from('fine'),
  timings: { totalMs: 0 },
  requestedAtMs: 0,
};
const metaEvent: NewMetaEvent = {
  id: asId('meta'),
  projectId: 'p',
  eventType: 'eventdelivery.success',
  payload: Buffer.from('{}'),
  retry: { strategy: 'linear', intervalSeconds: 1, maxRetrySeconds: 1, retryLimit: 1, schedule: null },
};

type Recorded = Partial<Pick<Finish, 'delivery' | 'description' | 'attempt' | 'metaEvent' | 'body'>>;

const finishOf = (id: string, fields: Recorded = {}): Finish => ({
  delivery: leasedDelivery({ id }),
  status: 'Success',
  description: null,
  numTrials: 1,
  latencyMs: 1,
  delayMs: null,
  lane: 0,
  key: asId<EndpointId>('e'),
  body: null,
  functionRequest: null,
  attempt,
  isSecondRequest: false,
  metaEvent: null,
  ...fields,
});

const failure = (code: string) => Object.assign(new Error(code), { code });
const BAD_DATA = '22021';
const REFUSED = '23502';
const TIMEOUT = '57014';
const AWAY = 'ECONNREFUSED';

type Refused = Finish & Pick<BatchFinish, 'members'>;

/** A store that fails a batch if it holds a finish that `refuse` names a code for. */
function finisherWith(refuse: (finish: Refused) => string | null, takenOver: readonly string[] = []) {
  const clock = new ManualClock();
  const tried: string[][] = [];
  const stored: AnyFinish[] = [];
  const warnings: string[] = [];
  const finisher = new Finisher({
    store: async (batch) => {
      tried.push(batch.map(({ delivery }) => delivery.id));
      for (const finish of batch) {
        const code = refuse(finish as Refused);
        if (code !== null) throw failure(code);
      }
      stored.push(...batch);
      return new Set(batch.map(({ delivery }) => delivery.id).filter((id) => !takenOver.includes(id)));
    },
    clock,
    metrics: createMetrics().metrics,
    log: Object.assign(Object.create(quietLog), {
      warn: (_: object, text: string) => void warnings.push(text),
    }) as Logger,
  });
  const finishAll = (...finishes: AnyFinish[]) =>
    Promise.all(finishes.map((finish) => finisher.finish(finish)));
  return { clock, finisher, tried, stored, warnings, finishAll };
}

const four = ['a', 'b', 'c', 'd'].map((id) => finishOf(id));

test('outcomes of the same moment are stored together, and one of a delivery taken over says so', async () => {
  const { tried, finishAll } = finisherWith(() => null, ['c']);
  expect(await finishAll(...four)).toEqual([true, true, false, true]);
  expect(tried).toEqual([['a', 'b', 'c', 'd']]);
});

describe('an outcome that the database cannot hold', () => {
  const isBad = ({ delivery, attempt: row }: Finish) => delivery.id === 'c' && row?.responseBody != null;

  test('is found by halves, and the others are stored as they are', async () => {
    const { tried, stored, finishAll } = finisherWith((finish) => (isBad(finish) ? BAD_DATA : null));
    expect(await finishAll(...four)).toEqual([true, true, true, true]);
    expect(tried).toEqual([['a', 'b', 'c', 'd'], ['a', 'b'], ['c', 'd'], ['c'], ['c'], ['d']]);
    expect(stored.filter(({ delivery }) => delivery.id !== 'c')).toEqual([four[0], four[1], four[3]]);
  });

  test('is stored without its response and its description', async () => {
    const { stored, finishAll } = finisherWith((finish) => (isBad(finish) ? BAD_DATA : null));
    await finishAll(finishOf('c', { description: 'described' }));
    const error = 'The result of this attempt could not be stored.';
    expect(stored).toEqual([
      finishOf('c', {
        description: error,
        attempt: { ...attempt, responseHeaders: null, responseBody: null, error },
      }),
    ]);
  });

  test('is stored without its attempt where that is not enough', async () => {
    const { stored, finishAll } = finisherWith((finish) => (finish.attempt === null ? null : BAD_DATA));
    expect(await finishAll(finishOf('c'))).toEqual([true]);
    expect(stored).toMatchObject([{ delivery: { id: 'c' }, status: 'Success', attempt: null }]);
  });

  test('that has no attempt is stored without its description', async () => {
    const { stored, finishAll } = finisherWith(({ description }) =>
      description === 'described' ? BAD_DATA : null,
    );
    expect(await finishAll(finishOf('c', { attempt: null, description: 'described' }))).toEqual([true]);
    expect(stored).toMatchObject([
      { attempt: null, description: 'The result of this attempt could not be stored.' },
    ]);
  });

  test('fails where nothing of it can be stored, and is not tried for ever', async () => {
    const { tried, finishAll } = finisherWith(() => BAD_DATA);
    await expect(finishAll(finishOf('c'))).rejects.toMatchObject({ code: BAD_DATA });
    expect(tried).toHaveLength(3);
  });

  test('loses its meta event before it loses anything else', async () => {
    const { stored, finishAll } = finisherWith((finish) => (finish.metaEvent ? BAD_DATA : null));
    await finishAll(finishOf('c', { metaEvent }));
    expect(stored).toEqual([finishOf('c', { metaEvent: null })]);
  });

  test('is replaced by a node that has given up too', async () => {
    const { finisher, finishAll } = finisherWith((finish) => (isBad(finish) ? BAD_DATA : null));
    finisher.giveUp();
    expect(await finishAll(...four)).toEqual([true, true, true, true]);
  });
});

describe('while the database is away', () => {
  test('a batch is kept whole and sent again each 250 ms', async () => {
    let isAway = true;
    const { clock, tried, warnings, finishAll } = finisherWith(() => (isAway ? AWAY : null));
    const moved = finishAll(...four);
    await clock.advance(249);
    expect(tried).toHaveLength(1);
    await clock.advance(1);
    expect(tried).toHaveLength(2);
    isAway = false;
    await clock.advance(250);
    expect(await moved).toEqual([true, true, true, true]);
    expect(tried.map(String)).toEqual(Array(3).fill('a,b,c,d'));
    expect(warnings).toHaveLength(1);
  });

  test('a meta event is kept with its outcome', async () => {
    let isAway = true;
    const { clock, stored, finishAll } = finisherWith(() => (isAway ? AWAY : null));
    const moved = finishAll(finishOf('c', { metaEvent }));
    await clock.advance(100);
    isAway = false;
    await clock.advance(250);
    await moved;
    expect(stored).toEqual([finishOf('c', { metaEvent })]);
  });

  test('a node that gives up fails what is not stored', async () => {
    const { clock, finisher, tried, finishAll } = finisherWith(() => AWAY);
    const results = Promise.allSettled([finishAll(...four)]);
    await clock.advance(100);
    finisher.giveUp();
    await clock.advance(250);
    expect(await results).toMatchObject([{ status: 'rejected', reason: { code: AWAY } }]);
    expect(tried).toHaveLength(2);
  });
});

describe('a batch that is refused for another reason', () => {
  test('is halved, so that it holds up no others', async () => {
    let isRefused = true;
    const { clock, finisher, tried } = finisherWith(({ delivery }) =>
      isRefused && delivery.id === 'b' ? REFUSED : null,
    );
    const [a, b, c, d] = four.map((finish) => finisher.finish(finish)) as [
      Promise<boolean>,
      Promise<boolean>,
      Promise<boolean>,
      Promise<boolean>,
    ];
    await clock.advance(100);
    expect(await Promise.all([a, c, d])).toEqual([true, true, true]);
    expect(tried).toEqual([['a', 'b', 'c', 'd'], ['a', 'b'], ['a'], ['b'], ['c', 'd']]);
    isRefused = false;
    await clock.advance(250);
    expect(await b).toBe(true);
    expect(tried.slice(5)).toEqual([['b']]);
  });

  test('is tried less and less often, with a warning now and then, and others go on meanwhile', async () => {
    const { clock, finisher, tried, warnings } = finisherWith(({ delivery }) =>
      delivery.id.startsWith('bad') ? REFUSED : null,
    );
    // More than there are batches in flight.
    const bad = Promise.allSettled(['bad 1', 'bad 2', 'bad 3'].map((id) => finisher.finish(finishOf(id))));
    await clock.advance(600_000);
    expect(tried.filter((ids) => String(ids) === 'bad 1').length).toBeLessThan(35);
    expect(warnings.length).toBeGreaterThan(10);
    expect(warnings.length).toBeLessThanOrEqual(60);
    const good = finisher.finish(finishOf('good'));
    await clock.advance(100);
    expect(await good).toBe(true);
    finisher.giveUp();
    await clock.advance(0);
    const rejected = { status: 'rejected', reason: { code: REFUSED } };
    expect(await bad).toMatchObject([rejected, rejected, rejected]);
  });

  test('is halved where it took too long', async () => {
    const { tried, finishAll } = finisherWith(() => (tried.length === 1 ? TIMEOUT : null));
    expect(await finishAll(...four)).toEqual([true, true, true, true]);
    expect(tried).toEqual([
      ['a', 'b', 'c', 'd'],
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  test('of one is tried again as it is', async () => {
    for (const code of [REFUSED, TIMEOUT]) {
      let isRefused = true;
      const { clock, stored, finishAll } = finisherWith(() => (isRefused ? code : null));
      const moved = finishAll(finishOf('c'));
      await clock.advance(100);
      isRefused = false;
      await clock.advance(250);
      expect(await moved).toEqual([true]);
      expect(stored).toEqual([finishOf('c')]);
    }
  });

  test('of one loses its meta event', async () => {
    const { stored, finishAll } = finisherWith((finish) => (finish.metaEvent ? REFUSED : null));
    await finishAll(finishOf('c', { metaEvent }));
    expect(stored).toEqual([finishOf('c', { metaEvent: null })]);
  });

  test('of one that took too long keeps its meta event', async () => {
    let isSlow = true;
    const { clock, stored, finishAll } = finisherWith(() => (isSlow ? TIMEOUT : null));
    const moved = finishAll(finishOf('c', { metaEvent }));
    await clock.advance(100);
    isSlow = false;
    await clock.advance(250);
    await moved;
    expect(stored).toEqual([finishOf('c', { metaEvent })]);
  });
});

test('large answers are shared out over batches of some 4 MB', async () => {
  const { clock, tried, finishAll } = finisherWith(() => null);
  const large = { ...attempt, responseBody: Buffer.alloc(1_500_000) };
  const moved = finishAll(...four.map((finish) => ({ ...finish, attempt: large })));
  await clock.advance(100);
  await moved;
  expect(tried).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

describe('outcomes of batches of deliveries', () => {
  const groupOf = (id: string, count: number): BatchFinish => {
    const members = Array.from({ length: count }, (_, n) => finishOf(`${id}${n}`));
    const batch = { ...leasedDelivery({ id }), kind: 'batch' } as unknown as LeasedBatch;
    return groupFinish(batch, { members, parts: [] }, { delayMs: null });
  };

  test('are stored each by itself, apart from those of single deliveries', async () => {
    const { tried, finishAll } = finisherWith(() => null);
    await finishAll(groupOf('first', 1), ...four, groupOf('second', 1));
    expect(tried.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      ['a', 'b', 'c', 'd'],
      ['first'],
      ['second'],
    ]);
  });

  test.for([BAD_DATA, REFUSED])('lose their meta events before anything else, after %s', async (code) => {
    const group = groupOf('first', 2);
    const [, second] = group.members;
    const refuse = ({ members }: Refused) => (members.some((one) => one.metaEvent) ? code : null);
    const { stored, finishAll } = finisherWith(refuse);
    if (second !== undefined) second.metaEvent = metaEvent;
    await finishAll(group);
    expect(stored).toEqual([groupOf('first', 2)]);
  });
});

describe('a batch', () => {
  test('is bounded by the bodies that functions made', async () => {
    const { finisher, clock, tried } = finisherWith(() => null);
    const body = Buffer.alloc(1024 * 1024);
    const ended = Promise.all(
      Array.from({ length: 12 }, (_, n) => finisher.finish(finishOf(`d${n}`, { body }))),
    );
    await clock.advance(1_000);
    await ended;
    expect(tried.flat()).toHaveLength(12);
    expect(Math.max(...tried.map(({ length }) => length))).toBeLessThanOrEqual(4);
  });

  test('has outcomes of each project, however many of one wait', async () => {
    const { finisher, clock, tried } = finisherWith(() => null);
    const finish = (id: string, projectId: string) =>
      finisher.finish(
        finishOf(id, { delivery: leasedDelivery({ id, projectId: asId<ProjectId>(projectId) }) }),
      );
    const many = Array.from({ length: 2_000 }, (_, n) => finish(`m${n}`, 'busy'));
    const one = finish('one', 'other');
    await clock.advance(1_000);
    await Promise.all([...many, one]);
    expect(tried[0]).toContain('one');
  });
});
