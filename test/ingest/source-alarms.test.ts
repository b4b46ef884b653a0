import { beforeAll, expect, test } from 'vitest';
import { SourceAlarms } from '../../src/brokers/source-alarms.ts';
import type { ProjectId, SourceId } from '../../src/domain/ids.ts';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { quietLog } from '../support/quiet-log.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

beforeAll(async () => {
  const meta_event = {
    is_enabled: true,
    type: 'http',
    url: receiver.url,
    secret: 's',
    event_type: ['alert.*'],
  };
  await app.project.put('', { config: { meta_event } });
});

async function source(): Promise<{ id: SourceId; project_id: ProjectId; name: string }> {
  const pub_sub = { type: 'kafka', workers: 1, kafka: { brokers: ['127.0.0.1:1'], topic_name: 't' } };
  const made = (await app.project.post('/sources', {
    name: 'orders',
    type: 'pub_sub',
    is_disabled: true,
    pub_sub,
  })) as Json;
  return { id: made.uid, project_id: app.projectId as ProjectId, name: 'orders' };
}

const alarms = (afterMs: number) =>
  new SourceAlarms({ db: app.app.db, changes: app.app.changes, log: quietLog, afterMs });

test('a source without a connection for too long raises one alert over all nodes, cleared when one connects', async () => {
  const of = await source();
  const [first, second] = [alarms(0), alarms(0)];
  await Promise.all([first.failed(of, 'refused'), second.failed(of, 'refused')]);
  await first.failed(of, 'refused');
  await receiver.received(1);
  expect(receiver.requests[0]?.json).toEqual({
    event_type: 'alert.raised',
    data: {
      kind: 'source',
      project_id: app.projectId,
      source_id: of.id,
      source: { uid: of.id, name: 'orders' },
      summary: 'The source has had no connection to its broker for five minutes.',
      last_reason: 'refused',
    },
  });
  await Promise.all([first.connected(of), second.connected(of)]);
  await receiver.received(2);
  expect(receiver.requests[1]?.json).toMatchObject({
    event_type: 'alert.cleared',
    data: { source_id: of.id },
  });
  const rows = await app.database.query('select event_type from meta_events order by id');
  expect(rows.map(({ event_type }) => event_type)).toEqual(['alert.raised', 'alert.cleared']);
});

test('a short failure raises no alert, and a failing node raises none while another node is connected', async () => {
  const of = await source();
  await alarms(300_000).failed(of, 'refused');
  await app.database.query(
    `insert into broker_status (source_id, node_id, project_id, state, reason, last_error)
     values ($1, 'other', $2, 'running', '', '')`,
    [of.id, app.projectId],
  );
  await alarms(0).failed(of, 'refused');
  expect(await app.database.query('select from alerts where subject_id = $1', [of.id])).toEqual([]);
});
