import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';

async function logging(level: string) {
  const written = linesOf(level);
  const app = await startTestApp({}, written.log);
  onTestFinished(app.stop);
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const attempts = (): Json[] => written.lines().filter(({ msg }) => msg === 'attempt');
  return { app, receiver, text: written.text, attempts };
}

test('at level debug every attempt is one line with all its fields, and no secret', async () => {
  const { app, receiver, text, attempts } = await logging('debug');
  receiver.answerNext(503);
  const { endpoint, subscription } = await subscribe(app.project, `${receiver.url}/hook?token=t0ps3cret`, {
    endpoint: {
      secret: 'wh1sper3d',
      authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'k3yv4lue' } },
    },
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 3 } },
  });
  const event = await app.project.call('POST', '/events/broadcast', {
    body: { event_type: 'order.paid', data: { card: '4242-4242' }, custom_headers: { 'X-Token': 'h34d3r' } },
    expected: 201,
    headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` },
  });
  const delivery = await deliveryOf(app.project, event);
  const lines = await eventually(attempts, { length: 2 });
  const shared = {
    level: 20,
    project: app.projectId,
    event: event.uid,
    eventType: 'order.paid',
    delivery: delivery.uid,
    endpoint: endpoint.uid,
    subscription: subscription.uid,
    host: new URL(receiver.url).host,
    address: '127.0.0.1',
    trace: 'a'.repeat(32),
    requestBytes: '{"card":"4242-4242"}'.length,
    responseBytes: 2,
    totalMs: expect.any(Number),
    firstByteMs: expect.any(Number),
  };
  expect(lines).toEqual([
    expect.objectContaining({
      ...shared,
      attemptNumber: 1,
      lane: 'first',
      status: 503,
      outcome: 'Retry',
      nextTryInMs: expect.any(Number),
      description: expect.stringContaining('503'),
    }),
    expect.objectContaining({
      ...shared,
      attemptNumber: 2,
      lane: 'retry',
      status: 200,
      outcome: 'Success',
      latencyMs: expect.any(Number),
    }),
  ]);
  const page = readFileSync(join(import.meta.dirname, '../../docs/log.md'), 'utf8');
  const explained = page.slice(page.indexOf('### One line per attempt'));
  const fields = new Set(lines.flatMap((line) => Object.keys(line)));
  for (const own of ['level', 'time', 'msg']) fields.delete(own);
  expect([...fields].filter((field) => !explained.includes(`\`${field}\``))).toEqual([]);
  expect(lines[1]).not.toHaveProperty('nextTryInMs');
  expect(lines[0]?.attempt).not.toBe(lines[1]?.attempt);
  for (const secret of ['4242-4242', 't0ps3cret', 'wh1sper3d', 'k3yv4lue', 'h34d3r', app.project.key]) {
    expect(text()).not.toContain(secret);
  }
});

test('an attempt without an answer has its error in the line', async () => {
  const { app, receiver, attempts } = await logging('debug');
  const { url } = receiver;
  await receiver.stop();
  await subscribe(app.project, url, {
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 1 } },
  });
  await app.project.post('/events/broadcast', { event_type: 'a', data: {} });
  const lines = await eventually(attempts, (all) => all.at(-1)?.outcome === 'Failure');
  expect(lines.map(({ error }) => error)).toEqual(lines.map(() => 'connection_refused'));
  expect(lines.map(({ attemptNumber }) => attemptNumber)).toEqual(lines.map((_, n) => n + 1));
  expect(lines.filter((line) => 'status' in line || 'responseBytes' in line)).toEqual([]);
});

test('at level info, the default, attempts are not logged', async () => {
  const { app, receiver, attempts, text } = await logging('info');
  await subscribe(app.project, receiver.url);
  await deliveryOf(app.project, await app.project.post('/events/broadcast', { event_type: 'a', data: {} }));
  await app.app.stop();
  expect(attempts()).toEqual([]);
  expect(text()).not.toContain('"delivery"');
});
