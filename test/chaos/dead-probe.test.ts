import { expect, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, readCredentials } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { ChaosNode } from './chaos-node.ts';

test('a node killed with the probe of a half-open breaker frees it, and other nodes probe the endpoint', async ({
  onTestFinished,
}) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const nodes: ChaosNode[] = [];
  for (const name of ['probing', 'staying']) {
    const node = await ChaosNode.place(name, database.url);
    onTestFinished(() => node.end());
    await node.start();
    nodes.push(node);
  }
  const [probing, staying] = nodes as [ChaosNode, ChaosNode];
  const credentials = readCredentials(probing.dataDir);
  const client = clientOf(staying.url, credentials);
  await client.put('', {
    name: 'default',
    config: { circuit_breaker: { error_timeout: 1, success_threshold: 1 } },
  });
  const { endpoint } = await subscribe(client, receiver.url, { endpoint: { http_timeout: 2 } });
  const breaker = () =>
    database.query(
      'select state, trips, probe_until is not null as is_taken from endpoint_breakers where endpoint_id = $1',
      [endpoint.uid],
    );
  // So that the other node gets the probe.
  staying.program.signal('SIGSTOP');
  await database.query(
    `with v as (update projects set version = version + 1 where id = $2 returning version)
     insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
     select $1, $2, version, 'open', 1, 0, now() from v`,
    [endpoint.uid, credentials.project_id],
  );
  receiver.answerAlways(() => {});
  const other = clientOf(probing.url, credentials);
  await eventually(() => other.get(`/endpoints/${endpoint.uid}`), { cb_state: 'half-open' });
  for (let n = 0; n < 3; n++) await other.post('/events/broadcast', { event_type: 'a', data: { n } });
  await receiver.received(1);
  await probing.program.kill();
  expect(await breaker()).toEqual([{ state: 'open', trips: 1, is_taken: true }]);
  receiver.answerAlways(200);
  staying.program.signal('SIGCONT');
  await eventually(
    () => database.query('select distinct status, num_trials from event_deliveries'),
    (rows) => rows.length === 1 && rows[0]?.['status'] === 'Success' && rows[0]['num_trials'] === 1,
  );
  expect(await breaker()).toEqual([{ state: 'closed', trips: 0, is_taken: false }]);
});
