import { expect, test } from 'vitest';
import { leasedDelivery, NOON } from '../../../test/support/samples/leased-delivery.ts';
import { MAX_BATCH_BYTES } from '../../domain/config/batch.ts';
import { BATCH_LANE, type LeasedBatch } from '../../domain/delivery.ts';
import { IdFactory } from '../../domain/ids.ts';
import { BatchSender, type BatchSenderDeps } from './batch-sender.ts';

const members = ['d0', 'd1', 'd2'].map((id) => leasedDelivery({ id, lane: BATCH_LANE.member }));
const deliveryIds = members.map(({ id }) => id);
const about = { kind: 'batch', id: 'b', lane: BATCH_LANE.formed, deliveryIds };
const batch = { ...leasedDelivery(), ...about } as unknown as LeasedBatch;

/** Sends a batch with so many bytes of payloads until its deliveries are read, and notes each step. */
async function steps(payloadBytes: number, taken: typeof members | null, hasRoom = true) {
  const noted: string[] = [];
  const note = <T>(step: string, result: T) => {
    noted.push(step);
    return Promise.resolve(result);
  };
  const sender = new BatchSender({
    ids: new IdFactory(() => NOON),
    cache: { peek: () => undefined, getOrNull: async () => null },
    room: { enter: ({ id }, size) => note(`room for ${size} bytes of ${String(id)}`, hasRoom) },
    stored: {
      measure: () => note('measured', { payloadBytes, textBytes: 50_000 }),
      take: (_batch, hasBodies) => note(hasBodies ? 'read' : 'read without bodies', taken),
    },
  } as Partial<BatchSenderDeps> as BatchSenderDeps);
  const finish = await sender.send(batch, new AbortController().signal);
  return { noted, finish, parts: finish.parts.map((part) => part.deliveryIds) };
}

/** The bytes of three deliveries, without their payloads. */
const REST = 3 * 1_800 + 50_000;

test('a batch is read once there is room for it: for its payloads twice, its headers and its deliveries', async () => {
  const { noted } = await steps(MAX_BATCH_BYTES, null);
  expect(noted).toEqual(['measured', `room for ${2 * MAX_BATCH_BYTES + REST} bytes of b`, 'read']);
});

test('a batch that is larger than any may be is read without its payloads, and halved', async () => {
  const { noted, parts } = await steps(MAX_BATCH_BYTES + 1, members);
  expect(noted).toEqual(['measured', `room for ${REST} bytes of b`, 'read without bodies']);
  expect(parts).toEqual([['d0', 'd1'], ['d2']]);
});

test('a batch that a stop meets while it waits for room is not read, and goes back as it is', async () => {
  const { noted, finish } = await steps(0, members, false);
  expect(noted).toEqual(['measured', `room for ${REST} bytes of b`]);
  expect(finish).toMatchObject({ delayMs: 0, lane: BATCH_LANE.formed, members: [], parts: [] });
});
