import { expect, test } from 'vitest';
import { linesOf } from '../../../test/support/log-lines.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { type Accepted, AcceptedCounts } from '../../metrics/accepted-counts.ts';
import { CountWriter, MAX_ROWS } from './count-writer.ts';

const TURN_MS = 2_000;

function startWriter() {
  const clock = new ManualClock();
  const { log, lines } = linesOf('warn');
  const accepted = new AcceptedCounts();
  const stored: (readonly Accepted[])[] = [];
  const database = { isDown: false };
  const writer = new CountWriter({
    accepted,
    store: async (counts) => {
      if (database.isDown) throw new Error('no database');
      stored.push(counts);
    },
    addUp: async () => {},
    log,
    clock,
  });
  writer.start();
  const count = (projectId: string) => accepted.accepted({ projectId, sourceId: null }, []);
  return { clock, stored, database, writer, count, lines };
}

const sum = (turn: readonly Accepted[] | undefined) => turn?.reduce((total, { count }) => total + count, 0);

test('counts of a project between two turns are one row, and no counts are no statement', async () => {
  const { clock, stored, count } = startWriter();
  for (let n = 0; n < 3; n += 1) count('p');
  await clock.advance(TURN_MS);
  expect(stored).toEqual([[{ projectId: 'p', sourceId: null, endpointId: null, count: 3 }]]);
  await clock.advance(TURN_MS);
  expect(stored).toHaveLength(1);
});

test('counts that could not be stored are stored by the next turn, with the counts since', async () => {
  const { clock, stored, database, count } = startWriter();
  database.isDown = true;
  count('p');
  await clock.advance(TURN_MS);
  expect(stored).toEqual([]);
  database.isDown = false;
  count('p');
  await clock.advance(TURN_MS);
  expect(stored.map(sum)).toEqual([2]);
});

test('a turn stores a bounded number of rows, and a stop stores the rest', async () => {
  const { clock, stored, writer, count } = startWriter();
  for (let n = 0; n < 2 * MAX_ROWS + 1; n += 1) count(`p${n}`);
  await clock.advance(TURN_MS);
  expect(stored.map(sum)).toEqual([MAX_ROWS]);
  await writer.stop();
  expect(stored.map(sum)).toEqual([MAX_ROWS, MAX_ROWS + 1]);
});

test('a stop without a database ends, and says that counts are lost', async () => {
  const { stored, database, writer, count, lines } = startWriter();
  database.isDown = true;
  count('p');
  await writer.stop();
  expect(stored).toEqual([]);
  expect(lines().map(({ msg }) => msg)).toEqual(['failed to store the last counts']);
});
