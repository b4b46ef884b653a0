import { describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf, shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** The wishes of a receiver: a header of its answer, or a status that is final. */
const app = await shared(startTestApp());
const RETRIES = { strategy: { schedule: ['1ms', '1ms'] } };

/** A receiver that always answers so, and the delivery of an event to it, once it has ended. */
async function answering(
  status: number,
  headers: Record<string, string | string[]> = {},
  { config = {}, endpoint: fields = {} }: { config?: object; endpoint?: object } = {},
) {
  const receiver = await Receiver.start();
  receiver.answerAlways((_request, response) => response.writeHead(status, headers).end());
  const project = await app.newProject({ ...RETRIES, ...config });
  const { endpoint } = await subscribe(project, receiver.url, { endpoint: fields });
  const send = async (expected: string): Promise<Json> => {
    const event = await project.post('/events/broadcast', { event_type: 'a', data: {} });
    return deliveryOf(project, event, expected);
  };
  const stop = async () => {
    await receiver.stop();
    return receiver.requests.length;
  };
  return { project, path: `/endpoints/${endpoint.uid}`, send, stop };
}

describe.concurrent('webhook-delivery', () => {
  test('abort-message ends the delivery with its reason, and the next one is sent', async () => {
    const { project, path, send, stop } = await answering(500, { 'Webhook-Delivery': 'Abort-Message' });
    for (let n = 0; n < 2; n++)
      expect(await send('Failure')).toMatchObject({
        description:
          'The endpoint answered 500 Internal Server Error with webhook-delivery: abort-message; it wants no retry',
        metadata: { num_trials: 1, retry_limit: 3 },
      });
    expect((await project.get(path)).status).toBe('active');
    expect(await stop()).toBe(2);
  });

  test('disable ends the delivery and disables the endpoint, with an alert and an entry in the audit log', async () => {
    const { project, path, send, stop } = await answering(503, { 'webhook-delivery': 'disable' });
    expect(await send('Failure')).toMatchObject({
      description:
        'The endpoint answered 503 Service Unavailable with webhook-delivery: disable; it wants no more deliveries',
      metadata: { num_trials: 1 },
    });
    await shown(project, path, { status: 'inactive' });
    const [entry] = (await project.get('/audit?action=endpoint.disabled')).content;
    expect(entry.after).toMatchObject({
      status: 'inactive',
      reason: 'it answered with webhook-delivery: disable',
    });
    const alerts = await app.database.query('select kind from alerts where project_id = $1', [
      project.projectId,
    ]);
    expect(alerts).toEqual([{ kind: 'disabled' }]);
    await send('Discarded');
    expect(await stop()).toBe(1);
  });

  test('disable in a success disables the endpoint too, after a delivery that succeeded', async () => {
    const { project, path, send, stop } = await answering(200, { 'webhook-delivery': ['later', 'disable'] });
    await send('Success');
    await shown(project, path, { status: 'inactive' });
    expect(await stop()).toBe(1);
  });

  test('with another value has no effect', async () => {
    const { project, path, send, stop } = await answering(500, { 'webhook-delivery': 'please stop' });
    expect((await send('Failure')).metadata.num_trials).toBe(3);
    expect((await project.get(path)).status).toBe('active');
    expect(await stop()).toBe(3);
  });
});

describe.concurrent('a final status', () => {
  // proves Projects: final_status_codes
  test('of the project ends the delivery with its reason, and leaves the endpoint active', async () => {
    const config = { final_status_codes: [413] };
    const { project, path, send, stop } = await answering(413, {}, { config });
    expect(await send('Failure')).toMatchObject({
      description:
        'The endpoint answered 413 Payload Too Large; the payload is too large for it, so it is not retried',
      metadata: { num_trials: 1 },
    });
    expect((await project.get(path)).status).toBe('active');
    expect(await stop()).toBe(1);
    // Not listed, it is a failure like others.
    const other = await answering(410, {}, { config });
    expect((await other.send('Failure')).metadata.num_trials).toBe(3);
    expect((await other.project.get(other.path)).status).toBe('active');
    expect(await other.stop()).toBe(3);
  });

  // proves Endpoints: final_status_codes
  test('of an endpoint overrides those of its project', async () => {
    const { path, project, send, stop } = await answering(
      404,
      {},
      { endpoint: { final_status_codes: [404] } },
    );
    expect(await send('Failure')).toMatchObject({
      description: 'The endpoint answered 404 Not Found; this status is final, so it is not retried',
      metadata: { num_trials: 1 },
    });
    await project.put(path, { final_status_codes: [] });
    expect((await send('Failure')).metadata.num_trials).toBe(3);
    expect(await stop()).toBe(4);
  });

  // differs Sending: 410 ends the delivery and makes the endpoint inactive; so can [others](how-to/retries.md).
  //   The status means that.
  test('is 410 alone by default, also of a project that was stored without the setting', async () => {
    const { project, path, send, stop } = await answering(410);
    await app.database.query(`update projects set config = config - 'final_status_codes' where id = $1`, [
      project.projectId,
    ]);
    await project.put('', { config: { search_policy: '1h' } });
    expect((await project.get('')).config.final_status_codes).toEqual([410]);
    expect((await send('Failure')).metadata.num_trials).toBe(1);
    await shown(project, path, { status: 'inactive' });
    expect(await stop()).toBe(1);
  });

  test.each([[[200]], [[299]], [[600]], [['410']], [[410.5]], [Array(51).fill(410)]])(
    'that is none is refused: %j',
    async (final_status_codes) => {
      const project = await app.newProject();
      const refused = await project.put('', { config: { final_status_codes } }, 400);
      expect(refused.message).toContain('final_status_codes');
      expect((await project.get('')).config.final_status_codes).toEqual([410]);
      const endpoint = { name: 'e', url: 'http://127.0.0.1:1', final_status_codes };
      expect((await project.post('/endpoints', endpoint, 400)).message).toContain('final_status_codes');
      expect((await project.get('/endpoints')).content).toEqual([]);
    },
  );
});
