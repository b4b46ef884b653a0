import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';

/**
 * A relay puts the message of a killed server behind the last byte of an answer: the two then reach the node
 * in one packet, as they do by chance when a real server dies under load.
 */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const KILLED = errorResponse('terminating connection due to unexpected postmaster exit');

test('a server killed in the packet of its last answer fails the statements and not the process', async () => {
  const database = await createTestDatabase();
  const relay = await startDatabaseRelay();
  const connection = { connectionString: relay.urlOf(database.name) };
  const db = new Database({ connection, connections: 6, log: quietLog });
  onTestFinished(async () => {
    await db.close();
    relay.close();
    await database.stop();
  });
  const onEveryConnection = () => Array.from({ length: 3 }, () => db.query('select pg_sleep(0.05)'));
  await Promise.all(onEveryConnection());

  let killed = 0;
  relay.spoilAnswers((answer) => {
    if (!answer.subarray(-READY_FOR_QUERY.length).equals(READY_FOR_QUERY)) return null;
    killed += 1;
    return Buffer.concat([answer, KILLED]);
  });
  // The statements' connections come free in the midst of the fatal packet, and the pool hands them on to these.
  const statements = onEveryConnection();
  const waiting = Array.from({ length: 10 }, () => db.transaction((tx) => tx.query('select 1')));
  const results = await Promise.allSettled([...statements, ...waiting]);
  expect(results.map(({ status }) => status)).toContain('rejected');
  expect(killed).toBeGreaterThanOrEqual(3);

  relay.spoilAnswers(null);
  expect(await db.transaction((tx) => tx.query('select 1 as one'))).toEqual([{ one: 1 }]);
});

/** An ErrorResponse of the protocol: length, then fields of a letter and a text each. */
function errorResponse(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C57P01\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
