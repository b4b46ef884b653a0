import { describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** The fate of a delivery, in its metadata and attempts. Tests run side by side, each on its own endpoint. */
const app = await shared(startTestApp({ POSTHORN_MAX_RETRY_SECONDS: '60' }));

const SECOND = { interval_seconds: 1 };
let number = 0;

interface Case {
  receiver: Receiver;
  endpoint: Json;
  /** Sends an event; the id of its delivery. */
  send(data?: unknown, fields?: object): Promise<string>;
  attempts(deliveryId: string): Promise<Json[]>;
}

/** An endpoint whose subscription retries as given. */
async function setCase(retryConfig: object, endpointFields: object = {}): Promise<Case> {
  const receiver = await Receiver.start();
  number += 1;
  const eventType = `retry.${number}`;
  const { endpoint } = await subscribe(app.project, receiver.url, {
    eventTypes: [eventType],
    endpoint: endpointFields,
    subscription: { retry_config: retryConfig },
  });
  return {
    receiver,
    endpoint,
    send: async (data = {}, fields = {}) => {
      const event = await app.project.post('/events/broadcast', { event_type: eventType, data, ...fields });
      return (await app.project.get(`/eventdeliveries?eventId=${event.uid}`)).content[0].uid;
    },
    attempts: (id) => app.project.get(`/eventdeliveries/${id}/deliveryattempts`),
  };
}

const state = (id: string, satisfied: (delivery: Json) => boolean): Promise<Json> =>
  eventually(() => app.project.get(`/eventdeliveries/${id}`), satisfied);
const reaches = (id: string, status: string) => shown(app.project, `/eventdeliveries/${id}`, { status });
const hasTried = (id: string, times: number) =>
  state(id, (delivery) => delivery.metadata.num_trials >= times);

/**
 * The wait that was planned after the last try, in milliseconds. Both times are of the same statement in the database. The
 * API shows the time of the id instead of an earlier change, and that time may be some milliseconds ahead.
 */
async function plannedWait({ uid }: Json): Promise<number> {
  const [row] = await app.database.query(
    'select extract(epoch from next_send_at - updated_at)::float8 * 1000 as ms from event_deliveries where id = $1',
    [uid],
  );
  return Math.round(Number(row?.['ms']));
}

/** Up to a fifth more by chance. */
const about = (expectedMs: number) => (ms: number) => ms >= expectedMs && ms <= expectedMs * 1.2;

describe.concurrent('a delivery', () => {
  // proves Subscriptions: retry_config.type, retry_config.interval_seconds
  test('that fails is tried again at a constant interval until it succeeds', async () => {
    const { receiver, send, attempts } = await setCase({ type: 'linear', retry_count: 5, ...SECOND });
    receiver.answerNext(500, 503);
    const id = await send();
    const once = await hasTried(id, 1);
    expect(once).toMatchObject({
      status: 'Retry',
      description: expect.stringContaining('500'),
      metadata: { strategy: 'linear', interval_seconds: 1, retry_limit: 6, max_retry_seconds: 60 },
    });
    expect(await plannedWait(once)).toSatisfy(about(1_000));
    expect(await plannedWait(await hasTried(id, 2))).toSatisfy(about(1_000));
    const done = await reaches(id, 'Success');
    expect(done).toMatchObject({
      metadata: { num_trials: 3 },
      description: '',
      latency: expect.stringMatching(/s$/),
    });
    const made = await attempts(id);
    expect(made.map(({ status, http_status }) => [status, http_status])).toEqual([
      [false, '500 Internal Server Error'],
      [false, '503 Service Unavailable'],
      [true, '200 OK'],
    ]);
    expect(made.map(({ response_data }) => response_data)).toEqual(['no', 'no', 'ok']);
    await receiver.stop();
  });

  // proves Subscriptions: retry_config.duration
  test('waits longer each time if the strategy is exponential', async () => {
    const { receiver, send } = await setCase({ type: 'exponential', retry_count: 5, duration: '1s' });
    receiver.answerNext(500, 500);
    const id = await send();
    const first = await plannedWait(await hasTried(id, 1));
    const second = await plannedWait(await hasTried(id, 2));
    expect(first).toSatisfy(about(1_000));
    expect(second).toSatisfy(about(2_000));
    expect((await reaches(id, 'Success')).metadata).toMatchObject({ strategy: 'exponential', num_trials: 3 });
    await receiver.stop();
  });

  // differs Sending: `retry_config` is taken on create, and applied; its `retry_count` counts retries after the
  //   first try. Convoy ignores it.
  // proves Subscriptions: retry_config.retry_count
  test('that uses up its attempts fails, with the reason, and is not sent again', async () => {
    const { receiver, send, attempts } = await setCase({ type: 'linear', retry_count: 1, ...SECOND });
    receiver.answerAlways(404);
    const id = await send();
    const failed = await reaches(id, 'Failure');
    expect(failed).toMatchObject({
      description: expect.stringContaining('404'),
      metadata: { num_trials: 2, retry_limit: 2 },
    });
    expect(await attempts(id)).toHaveLength(2);
    expect(receiver.requests).toHaveLength(2);
    const queued = await app.database.query('select * from delivery_queue where delivery_id = $1', [id]);
    expect(queued).toEqual([]);
    await receiver.stop();
  });

  test.each([301, 304, 400, 401, 403, 418, 429])('answered %i has failed', async (status) => {
    const { receiver, send } = await setCase({ type: 'linear', retry_count: 0, ...SECOND });
    receiver.answerAlways((_request, response) =>
      response.writeHead(status, { location: receiver.url }).end(),
    );
    const failed = await reaches(await send(), 'Failure');
    expect(failed.metadata.num_trials).toBe(1);
    expect(receiver.requests).toHaveLength(1);
    await receiver.stop();
  });

  test.each([200, 201, 202, 204, 299])('answered %i has succeeded', async (status) => {
    const { receiver, send } = await setCase({ type: 'linear', retry_count: 0, ...SECOND });
    receiver.answerAlways((_request, response) => response.writeHead(status).end());
    expect((await reaches(await send(), 'Success')).metadata.num_trials).toBe(1);
    await receiver.stop();
  });

  // differs Sending: `Retry-After` on any failing answer lengthens the wait. The receiver asks for it.
  test.each([
    ['429', '7', 7_000],
    ['503', '7', 7_000],
    ['503', '0', 1_000],
    ['503', 'soon', 1_000],
    ['429', '99999', 60_000],
    ['500', '7', 7_000],
    ['404', '7', 7_000],
    ['307', '7', 7_000],
  ])('answered %s with Retry-After %s waits that long, within bounds', async (status, after, expected) => {
    // Each attempt plans the same wait, so it does not matter which one is seen.
    const { receiver, send } = await setCase({ type: 'linear', retry_count: 1_000, ...SECOND });
    receiver.answerAlways((_request, response) =>
      response.writeHead(Number(status), { 'retry-after': after }).end(),
    );
    expect(await plannedWait(await hasTried(await send(), 1))).toSatisfy(about(expected));
    await receiver.stop();
  });

  test('answered 410 fails at once and makes the endpoint inactive; later deliveries are discarded', async () => {
    const { receiver, endpoint, send } = await setCase({ type: 'linear', retry_count: 5, ...SECOND });
    receiver.answerAlways(410);
    const failed = await reaches(await send(), 'Failure');
    expect(failed.metadata.num_trials).toBe(1);
    await shown(app.project, `/endpoints/${endpoint.uid}`, { status: 'inactive' });
    const discarded = await reaches(await send(), 'Discarded');
    expect(discarded).toMatchObject({
      description: expect.stringContaining('inactive'),
      metadata: { num_trials: 0 },
    });
    expect(receiver.requests).toHaveLength(1);
    receiver.answerAlways(200);
    await app.project.post(`/endpoints/${endpoint.uid}/activate`, undefined, 202);
    await reaches(await send(), 'Success');
    await receiver.stop();
  });

  test('to an endpoint that refuses connections is tried again, with the reason', async () => {
    const { receiver, send, attempts } = await setCase({ type: 'linear', retry_count: 1, ...SECOND });
    await receiver.stop();
    const id = await send();
    const failed = await reaches(id, 'Failure');
    expect(failed.description).not.toBe('');
    const made = await attempts(id);
    expect(made.map(({ status, error, http_status }) => [status, error !== '', http_status])).toEqual([
      [false, true, ''],
      [false, true, ''],
    ]);
  });

  // proves Endpoints: http_timeout
  test('to an endpoint that answers too late is aborted at its timeout', async () => {
    const { receiver, send, attempts } = await setCase({ retry_count: 0 }, { http_timeout: 1 });
    receiver.answerAlways(() => {});
    const id = await send();
    const failed = await reaches(id, 'Failure');
    expect(failed.description).toMatch(/within 1000 ms/);
    expect((await attempts(id))[0]).toMatchObject({ status: false, error: expect.stringMatching(/./) });
    await receiver.stop();
  });
});

describe.concurrent('a paused endpoint', () => {
  // differs Requests and answers: Attempts say `status: false`; Convoy leaves the key out.
  test('delays first attempts and retries, and gets them all once unpaused, in order', async () => {
    const { receiver, endpoint, send } = await setCase({ type: 'linear', retry_count: 3, ...SECOND });
    // The answer comes after the pause, so the retry cannot come before it.
    const paused = Promise.withResolvers<void>();
    receiver.answerNext((_request, response) => {
      void paused.promise.then(() => response.writeHead(500).end());
    });
    const retried = await send('retried');
    await receiver.received(1);
    await app.project.put(`/endpoints/${endpoint.uid}/pause`);
    paused.resolve();
    await hasTried(retried, 1);
    const ids = [];
    for (const data of ['a', 'b', 'c']) ids.push(await send(data));
    for (const id of ids) {
      const held = await state(id, ({ description }) => description !== '');
      expect(held).toMatchObject({ status: 'Scheduled', description: expect.stringMatching(/paused/) });
    }
    // Long enough for the retry to have come due behind the closed gate.
    await eventually(
      () =>
        app.database.query('select due_at < now() as is_due from delivery_queue where delivery_id = $1', [
          retried,
        ]),
      [{ is_due: true }],
    );
    expect(receiver.requests).toHaveLength(1);
    await app.project.put(`/endpoints/${endpoint.uid}/pause`);
    for (const id of [retried, ...ids]) await reaches(id, 'Success');
    expect(receiver.requests.map(({ json }) => String(json)).sort()).toEqual([
      'a',
      'b',
      'c',
      'retried',
      'retried',
    ]);
    await receiver.stop();
  });
});

describe.concurrent('an attempt', () => {
  test('is recorded with its request and response, credentials masked', async () => {
    const { receiver, endpoint, send, attempts } = await setCase(
      { retry_count: 0 },
      {
        authentication: { type: 'api_key', api_key: { header_name: 'X-Token', header_value: 'open sesame' } },
      },
    );
    receiver.answerAlways((_request, response) =>
      response.writeHead(200, { 'set-cookie': 'session=hush', 'x-answer': 'yes' }).end('grüße'),
    );
    const id = await send({ n: 1 });
    await reaches(id, 'Success');
    const [attempt] = await attempts(id);
    expect(receiver.requests[0]!.headers['x-token']).toBe('open sesame');
    expect(attempt).toMatchObject({
      msg_id: id,
      endpoint_id: endpoint.uid,
      project_id: app.projectId,
      url: receiver.url.replace(/\/?$/, ''),
      method: 'POST',
      ip_address: expect.stringContaining('127.0.0.1'),
      http_status: '200 OK',
      error: '',
      status: true,
      is_stale: false,
      response_data: 'grüße',
    });
    expect(attempt.request_http_header).toMatchObject({
      'X-Token': '***',
      'Content-Type': 'application/json',
    });
    expect(attempt.response_http_header).toMatchObject({ 'x-answer': 'yes', 'set-cookie': '***' });
    expect(JSON.stringify(attempt)).not.toMatch(/sesame|hush/);
    expect(await app.project.get(`/eventdeliveries/${id}/deliveryattempts/${attempt.uid}`)).toEqual(attempt);
    const health = await app.project.get(`/endpoints/${endpoint.uid}`);
    expect(health).toMatchObject({ events: 1, failure_rate: 0 });
    await receiver.stop();
  });

  test('with Authorization and Cookie among the custom headers masks those too', async () => {
    const { receiver, send, attempts } = await setCase({ retry_count: 0 });
    const custom_headers = { Authorization: 'Basic aHVzaA==', cookie: 'session=hush' };
    const uid = await send({}, { custom_headers });
    await reaches(uid, 'Success');
    expect(receiver.requests[0]!.headers).toMatchObject({
      authorization: 'Basic aHVzaA==',
      cookie: 'session=hush',
    });
    const [attempt] = await attempts(uid);
    expect(attempt.request_http_header).toMatchObject({ Authorization: '***', cookie: '***' });
    await receiver.stop();
  });

  test('keeps at most 50 KiB of the response, binary bytes included', async () => {
    const { receiver, send, attempts } = await setCase({ retry_count: 0 });
    receiver.answerAlways((_request, response) =>
      response.writeHead(200).end(Buffer.concat([Buffer.from([0, 0xff, 0xfe]), Buffer.alloc(200_000, 'x')])),
    );
    const id = await send();
    await reaches(id, 'Success');
    const [row] = await app.database.query(
      'select length(response_body) as bytes from attempts where delivery_id = $1',
      [id],
    );
    expect(row).toEqual({ bytes: 51_200 });
    const [attempt] = await attempts(id);
    expect(attempt.response_data).toMatch(/x{1000}$/);
    await receiver.stop();
  });
});
