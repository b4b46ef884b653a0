import { beforeEach, expect, test } from 'vitest';
import { firstIdAt, IdFactory } from '../../src/domain/ids.ts';
import { InFlightIds } from '../../src/domain/in-flight-ids.ts';
import { SettledIds } from '../../src/jobs/settled-ids.ts';
import { JOBS_CHANNEL } from '../../src/store/database/notify-nodes.ts';
import { beat, forgetNodes } from '../../src/store/queue/nodes.ts';
import { createTestDatabase } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/samples/manual-clock.ts';
import { shared } from '../support/shared.ts';

/** Up to which id a job may read, by the ids that nodes hold. The test acts as the other nodes. */
const database = await shared(createTestDatabase());
const db = database.open();
const clock = new ManualClock();

const HOUR_MS = 3_600_000;
/** The database and this process share a clock. The ids lag behind it, so that it has passed each of them. */
const ids = new IdFactory(() => Date.now() - 1_000);
const own = new InFlightIds(ids, clock);
const settled = new SettledIds({ db, nodeId: 'own', inFlight: own, silentMs: HOUR_MS });

const other = (inFlightFrom: string) =>
  beat(db, { id: 'other', roles: 'api', knows: '', sealKeys: [], inFlightFrom });

beforeEach(() => database.query('delete from nodes'));

test('a node alone that holds no id may read up to the job at once', async () => {
  await beat(db, { id: 'own', roles: 'api', knows: '', sealKeys: [], inFlightFrom: '' });
  const job = ids.next();
  expect(await settled.upTo(job)).toEqual({ before: job, waitMs: null });
});

test('an id that this node holds or is unsure of is not passed', async () => {
  const [held, job] = [own.take(), ids.next()];
  expect(await settled.upTo(job)).toEqual({ before: held, waitMs: expect.any(Number) });
  own.unsure([job, held]);
  own.release(held);
  expect(await settled.upTo(job)).toEqual({ before: held, waitMs: expect.any(Number) });
  await clock.advance(10_000);
  expect(await settled.upTo(job)).toEqual({ before: job, waitMs: null });
  // An id that is taken after the job does not concern it.
  const later = own.take();
  expect(await settled.upTo(job)).toEqual({ before: job, waitMs: null });
  own.release(later);
});

test('a node that beats is asked for its ids, and counts for as long as it holds one', async () => {
  const [held, job] = [ids.next(), ids.next()];
  await other('');
  const listener = await db.dedicated();
  const asked: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => asked.push(payload));
  await listener.query(`listen ${JOBS_CHANNEL}`);
  expect(await settled.upTo(job)).toEqual({ before: '', waitMs: expect.any(Number) });
  await eventually(async () => asked, { length: atLeast(1) });
  expect(asked).toEqual(['held']);
  await other(held);
  expect(await settled.upTo(job)).toEqual({ before: held, waitMs: expect.any(Number) });
  // The job wants no later event.
  expect(await settled.upTo(job, Date.now() - HOUR_MS)).toEqual({ before: held, waitMs: null });
  await other(ids.next());
  expect(await settled.upTo(job)).toEqual({ before: job, waitMs: null });
  await listener.end();

  const old = firstIdAt(Date.now() - 3 * HOUR_MS);
  await other(old);
  const oldJob = firstIdAt(Date.now() - 2 * HOUR_MS);
  expect(await settled.upTo(oldJob)).toEqual({ before: old, waitMs: expect.any(Number) });
});

test('a silent node counts in the first time of a job only, and not once it is forgotten', async () => {
  await other('');
  const held = firstIdAt(Date.now() - 3 * HOUR_MS);
  await other(held);
  await database.query("update nodes set beat_at = now() - interval '90 minutes'");
  const job = ids.next();
  expect(await settled.upTo(job)).toEqual({ before: held, waitMs: expect.any(Number) });
  const older = firstIdAt(Date.now() - 2 * HOUR_MS);
  expect(await settled.upTo(older)).toEqual({ before: older, waitMs: null });
  await forgetNodes(db, ['other']);
  expect(await settled.upTo(job)).toEqual({ before: job, waitMs: null });
});

test('a job whose id is ahead of the clock of the database waits for it: a node that starts may give earlier ids', async () => {
  const job = firstIdAt(Date.now() + HOUR_MS);
  const { before, waitMs } = await settled.upTo(job);
  expect(waitMs).toBeGreaterThan(0);
  expect(before < job).toBe(true);
});
