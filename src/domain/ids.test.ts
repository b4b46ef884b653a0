import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  asId,
  type DeliveryId,
  type EndpointId,
  firstIdAt,
  IdFactory,
  idTime,
  isId,
  type ProjectId,
} from './ids.ts';

test('ids strictly increase, also within a millisecond and when the clock steps back', () => {
  const times = [5, 5, 5, 9, 7, 7, 10];
  let call = 0;
  const ids = new IdFactory(() => times[Math.min(call++, times.length - 1)] ?? 0);
  const made = Array.from({ length: 5_000 }, () => ids.next());
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
  expect(made.every(isId)).toBe(true);
});

test('an id contains its time to the millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 47 }), (ms) => {
      const id = new IdFactory(() => ms).next();
      expect(idTime(id)).toBe(ms);
      expect(firstIdAt(ms) <= id && id < firstIdAt(ms + 1)).toBe(true);
    }),
  );
});

test('ids pass one of another node whose clock is ahead, but not one that is far ahead', () => {
  const ids = new IdFactory(() => 1_000_000);
  const [before, ahead] = [ids.next(), firstIdAt(1_000_500)];
  ids.pass(ahead);
  expect(ids.next() > ahead).toBe(true);
  ids.pass(before);
  ids.pass(firstIdAt(9_000_000));
  expect(idTime(ids.next())).toBe(1_000_501);
});

test('text that is not an id is recognised', () => {
  for (const text of [
    '',
    'x',
    '01ARZ3NDEKTSV4RRFFQ69G5FA',
    '01ARZ3NDEKTSV4RRFFQ69G5FAVV',
    '81ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01arz3ndektsv4rrffq69g5fav',
    '01ARZ3NDEKTSV4RRFFQ69G5FAI',
  ])
    expect(isId(text), text).toBe(false);
});

test('an id of one resource is not taken for that of another', () => {
  const send = (to: { projectId: ProjectId; endpointId: EndpointId }) => to;
  const projectId = asId<ProjectId>('p');
  const endpointId = new IdFactory(() => 1).next<EndpointId>();
  expect(send({ projectId, endpointId })).toEqual({ projectId, endpointId });
  // @ts-expect-error the two are swapped
  send({ projectId: endpointId, endpointId: projectId });
  // @ts-expect-error a delivery is no endpoint
  send({ projectId, endpointId: asId<DeliveryId>('d') });
  // @ts-expect-error a text is no id until an edge says so
  send({ projectId: 'p', endpointId });
  const text: string = endpointId;
  expect(isId(text)).toBe(true);
});
