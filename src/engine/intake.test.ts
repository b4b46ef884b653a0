import { expect, test } from 'vitest';
import { leasedDelivery } from '../../test/support/samples/leased-delivery.ts';
import { LANE } from '../domain/delivery.ts';
import { asId, type SubscriptionId } from '../domain/ids.ts';
import { Intake } from './intake.ts';

const BATCHED = { projectId: 'p', key: asId<SubscriptionId>('s'), lane: LANE.retry };

/** An intake, and who was notified of what. */
function intakeOf(delivers: boolean) {
  const notified: unknown[][] = [];
  const hears =
    (who: string) =>
    (...what: unknown[]) =>
      void notified.push([who, ...what]);
  const intake = new Intake({
    delivers,
    dispatcher: { reserve: () => false, unreserve: hears('unreserve'), start: hears('start') },
    claimer: { waiting: hears('claimer'), unsure: hears('unsure'), live: hears('live') },
    notifier: { waiting: hears('notifier') },
    expander: { wake: hears('expander') },
    pull: { stored: hears('pull') },
    batches: {
      collects: ({ key: of }) => of === BATCHED.key,
      stored: hears('batches'),
      found: hears('found'),
    },
  });
  return { intake, notified };
}

const { key, projectId, id, target } = leasedDelivery();
const place = { projectId: 'p', key, lane: LANE.replay };

test('rows that wait are for the claims of this node and for consumers that wait here', () => {
  const { intake, notified } = intakeOf(true);
  intake.waiting(place);
  intake.waiting(place, 1_000);
  intake.expansionStored();
  intake.unsure([{ projectId, id }]);
  intake.reserve(id, { projectId, endpointId: target }, 100_000);
  expect(notified).toEqual([
    ['claimer', place, 0],
    ['pull', key],
    ['claimer', place, 1_000],
    ['expander'],
    ['unsure', [{ projectId, id }]],
    ['live', projectId],
  ]);
});

test('a node that does not deliver leaves them to others', () => {
  const { intake, notified } = intakeOf(false);
  intake.waiting(place);
  intake.expansionStored();
  intake.unsure([{ projectId, id }]);
  expect(notified).toEqual([
    ['notifier', place, 0],
    ['pull', key],
  ]);
});

test('rows of a subscription with batches are for those who make them, unless they are due later or it does not deliver', () => {
  const { intake, notified } = intakeOf(true);
  intake.waiting(BATCHED, 0, 7);
  intake.waiting(BATCHED, 1_000, 7);
  expect(notified).toEqual([
    ['batches', BATCHED, 7],
    ['claimer', BATCHED, 1_000],
  ]);
  // Behind the next one of a key there may be enough for a batch.
  notified.length = 0;
  intake.released([BATCHED, place]);
  expect(notified).toEqual([
    ['found', BATCHED],
    ['claimer', place, 0],
    ['pull', key],
  ]);
  notified.length = 0;
  intake.waitingBehind('p', BATCHED.key, 7);
  intake.waitingBehind('p', key, 7);
  expect(notified).toEqual([['batches', { ...BATCHED, lane: LANE.first }, 7]]);
  const other = intakeOf(false);
  other.intake.waitingBehind('p', BATCHED.key, 7);
  other.intake.waiting(BATCHED, 0, 7);
  expect(other.notified[0]).toEqual(['notifier', BATCHED, 0]);
});
