import { expect, test } from 'vitest';
import { leasedDelivery } from '../../../test/support/samples/leased-delivery.ts';
import {
  BATCH_LANE,
  LANE,
  type LeasedBatch,
  type LeasedDelivery,
  WAITS_FOR_TURN,
} from '../../domain/delivery.ts';
import type { Finish } from '../../store/queue/finish.ts';
import { back } from '../attempt/sent.ts';
import { keepOrder } from './keep-order.ts';
import { groupFinish } from './regroup.ts';

const batch = {
  kind: 'batch',
  id: 'b',
  key: 's',
  lane: BATCH_LANE.formed,
  deliveryIds: [],
} as unknown as LeasedBatch;

/** Named by their keys: `a1` is the first of key `a`. Those without a letter have no order. */
const member = (name: string, over: Partial<Finish> = {}, fields: Partial<LeasedDelivery> = {}) => {
  const orderingId = /[a-z]/.exec(name)?.[0] ?? null;
  const isBehind = orderingId !== null && !name.endsWith('1');
  const delivery = leasedDelivery({
    ...fields,
    id: name,
    orderingId,
    isBehind,
    lane: BATCH_LANE.member,
  } as never);
  return {
    ...back(delivery),
    lane: BATCH_LANE.member,
    delayMs: 0,
    ...over,
  } as Finish;
};

function kept(
  members: Finish[],
  parts: string[][],
  { delayMs = null, holds = true }: { delayMs?: number | null; holds?: boolean } = {},
) {
  const named = parts.map((deliveryIds, n) => ({ id: `part ${n}` as never, deliveryIds }));
  const kept = keepOrder(groupFinish(batch, { members, parts: named }, { delayMs }), () => holds);
  return {
    parts: kept.parts.map(({ deliveryIds }) => deliveryIds.join(' ')),
    waiting: kept.members.filter(({ lane }) => lane !== BATCH_LANE.member).map(({ delivery }) => delivery.id),
    members: kept.members,
  };
}

const FAILED = { status: 'Failure', delayMs: null } as const;
const names = (...all: string[]) => all.map((name) => member(name));

test('a batch that goes on as it is stays together', () => {
  expect(kept(names('a1', 'a2', '7'), [], { delayMs: 1_000 })).toMatchObject({ parts: [], waiting: [] });
});

test('of its halves, the first of a key keeps those behind it that are with it', () => {
  const both = kept(names('a1', 'b1', 'a2', 'b2', 'a3', '7'), [
    ['a1', 'b1', 'a2'],
    ['b2', 'a3', '7'],
  ]);
  expect(both).toMatchObject({ parts: ['a1 b1 a2', '7'], waiting: ['b2', 'a3'] });
  expect(kept(names('a1', 'a2'), [['a1'], ['a2']])).toMatchObject({ parts: ['a1'], waiting: ['a2'] });
});

test('one behind a gap waits too, although the first is in its part', () => {
  const gap = kept(names('a1', 'a2', 'a3'), [['a1', 'a3'], ['a2']]);
  expect(gap).toMatchObject({ parts: ['a1'], waiting: ['a2', 'a3'] });
});

test('those behind one that ends wait for their turn, and use no tries', () => {
  const open = { numTrials: 3, status: 'Retry' as const, delayMs: 5_000 };
  const tried = { numTrials: 2 };
  const { parts, waiting, members } = kept(
    [member('a1', FAILED), member('a2', open, tried), member('a3', { ...FAILED, numTrials: 1 })],
    [['a2']],
  );
  expect({ parts, waiting }).toEqual({ parts: [], waiting: ['a2', 'a3'] });
  expect(
    members.map(({ status, numTrials, delayMs, lane }) => ({ status, numTrials, delayMs, lane })),
  ).toEqual([
    { status: 'Failure', numTrials: 0, delayMs: null, lane: BATCH_LANE.member },
    { status: 'Retry', numTrials: 2, delayMs: 0, lane: LANE.retry + WAITS_FOR_TURN },
    { status: 'Scheduled', numTrials: 0, delayMs: 0, lane: LANE.first + WAITS_FOR_TURN },
  ]);
});

test('a success, an expiry and a failure at most once end it also behind others', () => {
  const ends = [
    member('a2', { status: 'Success', delayMs: null }),
    member('a3', { status: 'Discarded', delayMs: null }),
    member('a4', FAILED, { deliveryMode: 'at_most_once' }),
  ];
  const { waiting, members } = kept([member('a1', { status: 'Success', delayMs: null }), ...ends], []);
  expect(waiting).toEqual([]);
  expect(members.slice(1)).toEqual(ends);
});

test('one that ends between others does not part them', () => {
  const all = [member('a1'), member('a2', { status: 'Discarded', delayMs: null }), member('a3')];
  expect(kept(all, [['a1', 'a3']])).toMatchObject({ parts: ['a1 a3'], waiting: [] });
});

test('if failures are skipped, those behind one fail with it', () => {
  const all = [member('a1', FAILED), member('a2', FAILED)];
  expect(kept(all, [], { holds: false }).members).toEqual(all);
});
