/** A process of its own that asks the database twice over one connection and says what came of it. */
import { Database } from '../../src/store/database/database.ts';
import { quietLog } from '../support/quiet-log.ts';

const db = new Database({
  connection: { connectionString: process.argv[2] ?? '' },
  connections: 4,
  log: quietLog,
});
await db.beat('one', 'select 1', []);
const asked = Promise.allSettled([
  db.beat('slow', 'select pg_sleep(0.3)', []),
  db.beat('waiting', 'select 2', []),
]);
setImmediate(() => process.stdout.write('asked\n'));
const answers = await asked;
process.stdout.write(
  `${JSON.stringify(answers.map((answer) => (answer.status === 'fulfilled' ? 'answered' : String(answer.reason))))}\n`,
);
await db.close();
