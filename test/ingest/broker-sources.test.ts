import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());

/** Nothing listens on this port, so a source that runs soon waits for its broker. */
const pub_sub = { type: 'kafka', workers: 1, kafka: { brokers: ['127.0.0.1:1'], topic_name: 't' } };

const create = (name: string, fields: object = {}): Promise<Json> =>
  app.project.post('/sources', { name, type: 'pub_sub', pub_sub, ...fields });

const stateOf = async (uid: string): Promise<string> =>
  (await app.project.get(`/sources/${uid}`)).status.state;

test('a source whose settings cannot be read does not keep others from running', async () => {
  // Sources are looked at in the order of their ids, so the damaged one comes first.
  const damaged = await create('damaged', { is_disabled: true });
  await app.database.query(
    "update sources set sealed = 'x', is_disabled = false, version = version + 1 where id = $1",
    [damaged.uid],
  );
  const healthy = await create('healthy');
  await eventually(() => stateOf(healthy.uid), 'waiting');
  const rows = await app.database.query('select source_id from broker_status');
  expect(rows).toEqual([{ source_id: healthy.uid }]);
});
