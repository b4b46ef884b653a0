import { expect, type TestContext, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { serveOn } from '../support/servers/serve.ts';

const EVENTS = 600;
const IN_BATCH = 50;

async function startNode({ onTestFinished }: TestContext, database: TestDatabase) {
  const dataDir = temporaryFolder();
  const program = serveOn(database.url, { POSTHORN_DATA_DIR: dataDir }, onTestFinished);
  return { program, url: await program.ready(), dataDir };
}

const numbersOf = ({ json }: Received): number[] => json.map(({ data }: Json) => data.n);

test('a node that is killed while it sends batches: another one sends the same batches again, with their ids and bytes', async (context) => {
  const database = await createTestDatabase();
  context.onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  context.onTestFinished(() => receiver.stop());
  const first = await startNode(context, database);
  const credentials = readCredentials(first.dataDir);
  const client = clientOf(first.url, credentials);
  const batch = { max: IN_BATCH, max_wait_seconds: 1 };
  await subscribe(client, receiver.url, { subscription: { batch } });
  // Nothing is answered, so every batch is under way when the node is killed.
  receiver.answerAlways(() => {});
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    kind: 'broadcast',
    event_type: 'a',
    data: { n },
  }));
  await client.post('/events/batch', { events }, 200);
  const killed = [...(await receiver.received(EVENTS / IN_BATCH))];
  first.program.signal('SIGKILL');
  receiver.answerAlways(200);

  const second = await startNode(context, database);
  const again = clientOf(second.url, credentials);
  await eventually(
    () => database.query('select from delivery_queue where project_id = $1', [client.projectId]),
    { length: 0 },
  );
  const { content } = await again.get('/eventdeliveries?status=Success&perPage=1000');
  expect(content).toHaveLength(EVENTS);
  const byId = Map.groupBy(receiver.requests, ({ headers }) => headers['webhook-id']);
  for (const { headers, body } of killed)
    expect(byId.get(headers['webhook-id'])?.map((request) => request.body.equals(body))).toEqual([
      true,
      true,
    ]);
  const answered = receiver.requests.slice(killed.length);
  expect(new Set(answered.flatMap(numbersOf)).size).toBe(EVENTS);
  expect(answered.flatMap(numbersOf)).toHaveLength(EVENTS);
});
