// A node reduced to its embedded database, for tests that kill nodes: node-with-database.ts DATADIR [exit].
// Says one line of JSON when the server is ready or could not start; stops on SIGTERM; ignores SIGINT.

import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { StartupError } from '../../src/platform/startup-error.ts';

const [dataDir, then] = process.argv.slice(2);
let serverPid: unknown;
const note = (fields: object): void => {
  if ('pid' in fields) serverPid = fields.pid;
};
process.on('SIGINT', () => {});
try {
  const server = await startEmbeddedPostgres({ dataDir: dataDir!, log: { info: note, warn: note } });
  process.once('SIGTERM', () => {
    void server.stop();
  });
  console.log(JSON.stringify({ ready: true, pid: process.pid, serverPid, connection: server.connection }));
  if (then === 'exit') process.exit(3);
} catch (error) {
  if (!(error instanceof StartupError)) throw error;
  console.log(JSON.stringify({ ready: false, error: error.message }));
}
