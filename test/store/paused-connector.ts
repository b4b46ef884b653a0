/** A process of its own that opens connections of each kind, and prints what came of it. */
import { connectForCopy } from '../../src/store/backup/connect-for-copy.ts';
import { Database } from '../../src/store/database/database.ts';
import { quietLog } from '../support/quiet-log.ts';

const connection = { connectionString: process.argv[2] ?? '' };
const db = new Database({ connection, connections: 4, log: quietLog });
const connecting = Promise.allSettled([
  db.query('select 1'),
  db.dedicated().then((client) => client.end()),
  connectForCopy(connection).then(({ client }) => client.end()),
]);
setTimeout(() => process.stdout.write('asked\n'), 500);
const outcomes = await connecting;
process.stdout.write(
  `${JSON.stringify(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'connected' : String(outcome.reason))))}\n`,
);
await db.close();
