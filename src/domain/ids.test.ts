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

/** A time that a test moves on and puts in doubt. */
function doubtful() {
  const time = { ms: 1_000, isSure: true, willBe: true };
  const ids = new IdFactory(() => time.ms, {
    isSure: () => time.isSure,
    becomesSure: () => Promise.resolve((time.isSure = time.willBe)),
  });
  return { time, ids };
}

test('while the time is not sure ids stand still, and then they go on', () => {
  const { time, ids } = doubtful();
  const made = [ids.next()];
  time.isSure = false;
  for (time.ms = 5_000; time.ms < 5_010; time.ms += 1) made.push(ids.next());
  expect(new Set(made.map(idTime))).toEqual(new Set([1_000]));
  time.isSure = true;
  made.push(ids.next());
  expect(idTime(made.at(-1) ?? '')).toBe(time.ms);
  expect(made.toSorted()).toEqual(made);
});

test('a first id has the time that was measured, also if it is in doubt by then', () => {
  const { time, ids } = doubtful();
  time.isSure = false;
  expect(idTime(ids.next())).toBe(1_000);
});

test('what begins waits until the time is sure, and is refused if that takes long', async () => {
  const { time, ids } = doubtful();
  time.isSure = false;
  expect(ids.isReady()).toBe(false);
  await ids.ready();
  expect(ids.isReady()).toBe(true);
  time.willBe = false;
  await expect(ids.ready()).rejects.toMatchObject({ code: 'database_unavailable', retryAfterSeconds: 1 });
});

test('ids tell how far they are ahead of a clock that was set back', () => {
  const { time, ids } = doubtful();
  ids.next();
  time.ms = 400;
  expect(idTime(ids.next())).toBe(1_000);
  expect(ids.aheadMs).toBe(600);
  time.ms = 1_200;
  expect(ids.aheadMs).toBe(0);
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
