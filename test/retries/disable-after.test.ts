import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { newestDelivery, shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** An endpoint at which nothing succeeds is warned of, then disabled. Rows are moved back in time instead of a wait. */
const app = await shared(startTestApp());
const TIMES = { traffic: 'start', recent_counts: 'minute', endpoints: 'updated_at', alerts: 'raised_at' };

async function scene(disable_after: string) {
  const receiver = await Receiver.start();
  let status = 503;
  receiver.answerAlways(({ path }, response) => response.writeHead(path === '/meta' ? 200 : status).end());
  const event_type = ['alert.*', 'endpoint.disabled'];
  const meta_event = { is_enabled: true, url: `${receiver.url}/meta`, event_type };
  const project = await app.newProject({ strategy: { retry_count: 1 }, meta_event, disable_after });
  const { endpoint } = await subscribe(project, `${receiver.url}/hook`);
  const path = `/endpoints/${endpoint.uid}`;
  const send = async (expected: string, ...others: string[]) => {
    status = expected === 'Success' ? 200 : 503;
    const { uid } = await project.post('/events/broadcast', { event_type: 'a', data: {} });
    return newestDelivery(project, `eventId=${uid}`, expected, ...others);
  };
  /** An hour later. */
  const later = async () => {
    for (const [table, column] of Object.entries(TIMES))
      await app.database.query(
        `update ${table} set ${column} = ${column} - interval '1 hour' where project_id = $1`,
        [project.projectId],
      );
  };
  const notices = (): Json[] => receiver.at('/meta').map(({ json }) => json);
  /** Events of this outcome until there are so many notices. The node looks at its counts once in a while only. */
  const sendUntil = async (count: number, expected = 'Failure') =>
    eventually(
      async () => {
        // It may be disabled after this look.
        if (notices().length < count && (await project.get(path)).status === 'active')
          await send(expected, 'Discarded');
        return notices();
      },
      { length: atLeast(count) },
    );
  return { receiver, project, path, send, later, notices, sendUntil };
}

const kindOf = ({ event_type, data }: Json) => `${event_type} ${data.kind ?? ''}`.trim();

// proves Projects: disable_after
test('an endpoint without a success is warned of, saved by a success, and disabled where none comes', async () => {
  const { receiver, project, path, send, later, notices, sendUntil } = await scene('2s');
  await send('Failure');
  expect(notices()).toEqual([]);
  await later();
  const [warning] = await sendUntil(1);
  expect(kindOf(warning)).toBe('alert.raised outage');
  expect(warning.data).toMatchObject({
    endpoint_id: path.split('/').at(-1),
    summary: expect.stringMatching(
      /^No attempt has succeeded since \S+Z\. Unless one does, it is made inactive at \S+Z\.$/,
    ),
    last_status: '503 Service Unavailable',
  });
  expect((await project.get(path)).status).toBe('active');

  await sendUntil(2, 'Success');
  expect(notices().map(kindOf)).toEqual(['alert.raised outage', 'alert.cleared outage']);
  await later();
  await send('Failure');
  await later();
  await sendUntil(3);
  await later();
  await sendUntil(5);
  await shown(project, path, { status: 'inactive' });
  const disabled = notices().slice(2);
  expect(disabled.map(kindOf).sort()).toEqual([
    'alert.raised disabled',
    'alert.raised outage',
    'endpoint.disabled',
  ]);
  const of = (kind: string) => disabled.find((notice) => kindOf(notice) === kind)?.data;
  expect(of('endpoint.disabled').reason).toBe('no attempt succeeded for 2s');
  expect(of('alert.raised disabled').summary).toBe('It was made inactive: no attempt succeeded for 2s.');
  const sent = receiver.at('/hook').length;
  await send('Discarded');
  expect(receiver.at('/hook')).toHaveLength(sent);

  // Its time begins again.
  await project.post(`${path}/activate`, undefined, 202);
  await send('Failure');
  await send('Success');
  await eventually(notices, { length: atLeast(7) });
  expect(notices().slice(5).map(kindOf).sort()).toEqual(['alert.cleared disabled', 'alert.cleared outage']);
  await receiver.stop();
});

test('without the setting, which projects made before do not have, an endpoint may fail for ever', async () => {
  const { receiver, project, path, send, later, notices } = await scene('');
  await app.database.query(`update projects set config = config - 'disable_after' where id = $1`, [
    project.projectId,
  ]);
  await project.put('', { config: { search_policy: '1h' } });
  expect((await project.get('')).config.disable_after).toBe('');
  for (let hours = 0; hours < 3; hours++) {
    await send('Failure');
    await later();
  }
  expect(notices()).toEqual([]);
  expect((await project.get(path)).status).toBe('active');
  await receiver.stop();
});

test('requests that our client refuses to send are no failures of the endpoint', async () => {
  const { receiver, project, path, send, later, notices } = await scene('2s');
  // No call stores a text that no header can have.
  await app.database.query(`update endpoints set user_agent = E'a\\nb' where project_id = $1`, [
    project.projectId,
  ]);
  await project.put(path, { description: 'changed' });
  for (let hours = 0; hours < 3; hours++) {
    const { last_outcome } = await send('Failure');
    expect(last_outcome).toBe('invalid_request');
    await later();
  }
  expect(receiver.at('/hook')).toEqual([]);
  const counted = await app.database.query(
    `select sum(attempts)::int as attempts, sum(failed)::int as failed from (
       select attempts, failed from recent_counts where endpoint_id = $1
       union all select attempts, failed from traffic where subject_id = $1 and step = 1) counted`,
    [path.split('/').at(-1)],
  );
  expect(counted).toEqual([{ attempts: 0, failed: 3 }]);
  await project.put(path, { user_agent: 'fine' });
  // The first failure of its own is the beginning, not the last of three hours.
  await send('Failure');
  expect(receiver.at('/hook')).toHaveLength(1);
  expect(notices()).toEqual([]);
  await receiver.stop();
});

test.each(['0s', '-1h', 'soon', '5'])('disable_after is a duration: %s is refused', async (disable_after) => {
  const project = await app.newProject({ disable_after: '120h' });
  const refused = await project.put('', { config: { disable_after } }, 400);
  expect(refused.message).toContain('config.disable_after');
  expect((await project.get('')).config.disable_after).toBe('120h');
});
