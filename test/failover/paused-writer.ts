/** A process of its own that writes a row at a time, and goes on when a write fails. */
import { setTimeout as pause } from 'node:timers/promises';
import { Database } from '../../src/store/database/database.ts';
import { quietLog } from '../support/quiet-log.ts';

const connection = { connectionString: process.argv[2] ?? '' };
const db = new Database({ connection, connections: 4, log: quietLog });
for (let n = 1; ; n += 1) {
  const written = await db.query('insert into written values ($1)', [n]).then(
    () => true,
    () => false,
  );
  if (written) process.stdout.write(`${n}\n`);
  await pause(5);
}
