import { expect, test } from 'vitest';
import { leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import { IdFactory } from '../../domain/ids.ts';
import { back, ended, OUR_FAULT_DELAY_MS, ourFault } from '../attempt/sent.ts';
import { regrouped } from './regroup.ts';

const ids = new IdFactory(() => NOON);
const members = ['d0', 'd1', 'd2', 'd3'].map((id) => leasedDelivery({ id, lane: BATCH_LANE.member }));
const deliveryIds = members.map(({ id }) => id);
const batch = {
  ...members[0],
  kind: 'batch',
  id: 'b',
  lane: BATCH_LANE.formed,
  deliveryIds,
} as unknown as LeasedBatch;
const held = (member: LeasedDelivery) => ourFault(member, 'its function cannot run');
const made = (member: LeasedDelivery) => ({ ...back(member), body: Buffer.from('{}') });

function after(
  results: ReturnType<typeof held>[],
  tried: Partial<LeasedBatch> & { numTrials?: number } = {},
) {
  const { numTrials = 0, ...sent } = tried;
  const all = members.map((member) => ({ ...member, numTrials }));
  const { parts, delayMs } = regrouped({ ...batch, ...sent }, { members: all, results }, ids);
  return { parts: parts.map((part) => part.deliveryIds), delayMs };
}

test('deliveries whose function cannot run wait in a batch of their own, and the others go on at once', () => {
  const [first, second, third] = members as [LeasedDelivery, LeasedDelivery, LeasedDelivery];
  expect(after([made(first), held(second), ended(third, 'Failure', 'no')])).toEqual({
    parts: [['d0', 'd3'], ['d1']],
    delayMs: null,
  });
});

test('a batch whose deliveries all go on, or all wait, stays what it is', () => {
  expect(after(members.slice(1).map(made))).toEqual({ parts: [], delayMs: 0 });
  expect(after(members.map(held))).toEqual({ parts: [], delayMs: OUR_FAULT_DELAY_MS });
});

test.each([{ numTrials: 1 }, { isSecondRequest: true }])(
  'one that was sent before, %o, is another with other bodies',
  (tried) => {
    const all = { parts: [['d0', 'd1', 'd2', 'd3']], delayMs: null };
    expect(after(members.map(made), tried)).toEqual(all);
    expect(after(members.slice(3).map(made), tried)).toEqual(all);
    expect(after(members.map(held), tried)).toEqual({ parts: [], delayMs: OUR_FAULT_DELAY_MS });
  },
);
