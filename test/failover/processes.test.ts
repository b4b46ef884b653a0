import { expect, onTestFinished, test } from 'vitest';
import { ChaosNode } from '../chaos/chaos-node.ts';
import { subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { Load } from '../support/load.ts';
import { clientOf, readCredentials } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { StandbyPair } from './standby-pair.ts';

const EVENTS = 60;

test('a program of two processes moves to the promoted standby: both send again, and nothing accepted is lost', async () => {
  const pair = await StandbyPair.start();
  onTestFinished(() => pair.stop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const program = await ChaosNode.place('failover', pair.url, { POSTHORN_PROCESSES: '2' });
  onTestFinished(() => program.end());
  await program.start();
  const client = clientOf(program.url, readCredentials(program.dataDir));
  await subscribe(client, receiver.url, {
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 20 } },
  });
  const load = new Load([client], Number.POSITIVE_INFINITY, 8);
  await load.reached(EVENTS);
  await pair.primary.kill();
  await pair.promote();
  const before = load.accepted.size;
  await load.reached(before + EVENTS);
  await load.stop();

  const { standby } = pair;
  await eventually(() => standby.query('select delivery_id from delivery_queue'), { length: 0 });
  const stored = (await standby.query<{ id: string }>('select id from events')).map(({ id }) => id);
  expect([...load.accepted].filter((id) => !stored.includes(id))).toEqual([]);
  const sent = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
  expect(sent.size).toBe(stored.length);
  await eventually(() => standby.query("select id from nodes where beat_at > now() - interval '5 seconds'"), {
    length: 2,
  });
  expect(program.program.isRunning).toBe(true);
});
