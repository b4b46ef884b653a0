import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Load } from '../support/load.ts';
import { clientOf, type Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { serveOn } from '../support/servers/serve.ts';
import { arrivals, expectNothingLost } from './scene.ts';

const EVENTS = 1_000;
const KILL_AT = 400;

/** Two programs started at the same moment on one database that holds nothing yet. */
async function startPair({ onTestFinished }: TestContext) {
  const database = await createTestDatabase({ empty: true });
  onTestFinished(() => database.stop());
  const dataDirs = [0, 1].map(() => temporaryFolder(onTestFinished));
  const programs = dataDirs.map((dataDir) =>
    serveOn(database.url, { POSTHORN_DATA_DIR: dataDir }, onTestFinished),
  ) as [Program, Program];
  const urls = await Promise.all(programs.map((program) => program.ready()));
  const withCredentials = dataDirs.filter((dir) => existsSync(join(dir, 'credentials.json')));
  expect(withCredentials).toHaveLength(1);
  const credentials = readCredentials(withCredentials[0] as string);
  const clients = urls.map((url) => clientOf(url, credentials));
  return { database, programs, clients: clients as [(typeof clients)[0], (typeof clients)[0]] };
}

// proves Instance: DATABASE_URL
test('two nodes started together on an empty database create one project, and either takes over from the other', async (context) => {
  const { database, programs, clients } = await startPair(context);
  expect(await database.query('select name from projects')).toEqual([{ name: 'default' }]);
  expect(await database.query('select count(*)::int as keys from api_keys')).toEqual([{ keys: 2 }]);

  const receiver = await Receiver.start();
  context.onTestFinished(() => receiver.stop());
  receiver.answerAlways((_request, response) => {
    setTimeout(() => response.writeHead(200).end('ok'), 15);
  });
  await clients[0].put('', { name: 'default', config: { add_event_id_trace_headers: true } });
  await subscribe(clients[1], receiver.url, { eventTypes: ['load'] });

  const load = new Load(clients, EVENTS, 16);
  await load.reached(KILL_AT);
  await programs[0].kill();
  await load.done;
  const orphans = `select count(*)::int as rows from delivery_queue
    where node_id <> (select id from nodes order by beat_at desc limit 1)`;
  // Fifteen seconds is what is promised for a node that died, from its last beat to the last row taken over.
  await eventually(() => database.query(orphans), [{ rows: 0 }], 15_000);
  await expectNothingLost((sql) => database.query(sql), load.accepted, receiver);
  expect(Math.max(...arrivals(receiver).values())).toBeLessThanOrEqual(2);

  expect(await programs[1].stop()).toEqual({ code: 0, signal: null });
});
