import { expect, test } from 'vitest';
import { linesOf } from '../../../../test/support/log-lines.ts';
import { ManualClock, settle } from '../../../../test/support/samples/manual-clock.ts';
import { type LookedAt, OldPrimaries } from './old-primaries.ts';
import type { ServerState } from './server-look.ts';

const WAIT_MS = 10_000;
const OLD: ServerState = {
  isStandby: false,
  isReadOnly: false,
  cluster: 'ours',
  timeline: 3,
  acceptedAtMs: 0,
  lsn: '0/200',
};
const FOLLOWER: ServerState = { ...OLD, isStandby: true };
const NEWEST: ServerState = { ...OLD, timeline: 4, lsn: '0/300' };

/** Undefined: it does not answer. */
type Answers = Record<string, ServerState | undefined>;

/** Looks once a second. `later` has the answers from the second look on. */
async function watch(answers: Answers, { later = answers, seconds = 15, fails = false } = {}) {
  const clock = new ManualClock();
  const { log, lines } = linesOf('warn');
  const accepted: string[] = [];
  const primaries = new OldPrimaries(log, WAIT_MS, clock);
  const looks = Object.keys(answers).map((name) => ({
    name,
    state: answers[name],
    accept: async () => {
      accepted.push(`${name} after ${clock.elapsed()} ms`);
      if (fails) throw new Error('permission denied');
    },
  }));
  for (let second = 0; second < seconds && accepted.length === 0; second += 1) {
    if (second === 1) for (const look of looks) look.state = later[look.name];
    primaries.judge(looks satisfies LookedAt[], NEWEST);
    await settle();
    await clock.advance(1_000);
  }
  return { accepted, lines: lines().map(({ msg }) => msg as string), primaries, looks, clock };
}

test('an old primary that every other server follows is accepted after the wait', async () => {
  const { accepted, lines } = await watch({ a: FOLLOWER, b: OLD, c: FOLLOWER });
  expect(accepted).toEqual(['b after 10000 ms']);
  expect(lines).toEqual([expect.stringMatching(/^the only primary of the database is older than one seen/)]);
});

test.each<[string, Answers]>([
  ['it is the only server of the URL', { a: OLD }],
  ['a server does not answer', { a: OLD, b: FOLLOWER, c: undefined }],
  ['a standby is still of the newer timeline', { a: OLD, b: { ...FOLLOWER, timeline: 4 } }],
  ['a standby is of another cluster', { a: OLD, b: { ...FOLLOWER, cluster: 'other' } }],
  ['a standby has not replayed its log', { a: OLD, b: { ...FOLLOWER, lsn: '0/1FF' } }],
  ['a standby has replayed nothing', { a: OLD, b: { ...FOLLOWER, lsn: null } }],
  ['there are two old primaries', { a: OLD, b: OLD }],
  ['it is read only', { a: { ...OLD, isReadOnly: true }, b: FOLLOWER }],
])('it is not accepted if %s', async (_, answers) => {
  expect((await watch(answers)).accepted).toEqual([]);
});

test('a newer primary that answers is named as the one in use', async () => {
  const { accepted, lines } = await watch({ a: OLD, b: NEWEST, c: FOLLOWER });
  expect(accepted).toEqual([]);
  expect(lines).toEqual([
    'an old primary of the database takes writes; it is not used; stop it or make it a standby',
  ]);
});

test('the wait begins again after a server was silent, and after the process stood still', async () => {
  const silent = await watch({ a: OLD, b: undefined }, { later: { a: OLD, b: FOLLOWER } });
  expect(silent.accepted).toEqual(['a after 11000 ms']);
  const still = await watch({ a: OLD, b: FOLLOWER }, { seconds: 2 });
  await still.clock.advance(60_000);
  still.primaries.judge(still.looks, NEWEST);
  expect(still.accepted).toEqual([]);
});

test('if it cannot be marked the log says so, and the wait begins again', async () => {
  const { accepted, lines, primaries, looks, clock } = await watch({ a: OLD, b: FOLLOWER }, { fails: true });
  expect(lines.at(-1)).toMatch(/^failed to accept an old primary/);
  primaries.judge(looks, NEWEST);
  await clock.advance(1_000);
  primaries.judge(looks, NEWEST);
  expect(accepted).toHaveLength(1);
});
