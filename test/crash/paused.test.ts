import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { Program } from '../support/program.ts';
import { type Scene, setScene } from './scene.ts';

/**
 * A node that stands still for longer than the limits it holds others to: its process gets SIGSTOP, as a virtual
 * machine that is moved or starved would stand still. What came meanwhile must count.
 */
const TIMEOUT_SECONDS = 2;
/** Longer than the time limit, shorter than it takes to lose the lease. */
const PAUSE_MS = 3_500;

async function pause(program: Program, meanwhile: () => void = () => {}): Promise<void> {
  program.signal('SIGSTOP');
  await delay(100);
  meanwhile();
  await delay(PAUSE_MS);
  program.signal('SIGCONT');
}

interface Paused {
  program: Program;
  /** Resolves with the answer to give once a request is under way. */
  underWay: Promise<ServerResponse>;
  delivered(): Promise<Json>;
}

async function send(scene: Scene, setup: { subscription?: object; endpoint?: object } = {}): Promise<Paused> {
  const program = await scene.start();
  const client = await scene.client(program);
  await subscribe(client, scene.receiver.url, {
    eventTypes: ['paused'],
    endpoint: { http_timeout: TIMEOUT_SECONDS, ...setup.endpoint },
    subscription: {
      retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 },
      ...setup.subscription,
    },
  });
  const underWay = new Promise<ServerResponse>((resolve) => {
    scene.receiver.answerAlways((_request, response) => resolve(response));
  });
  const event = await client.post('/events/broadcast', { event_type: 'paused', data: {} });
  return {
    program,
    underWay,
    delivered: async () => {
      const [delivery] = await eventually(
        async () => (await client.get(`/eventdeliveries?eventId=${event.uid}`)).content as Json[],
        ([found]) => ['Success', 'Failure'].includes(found?.status),
      );
      const attempts = await client.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);
      return { ...delivery, attempts: attempts.length };
    },
  };
}

const OK = { status: 'Success', attempts: 1, metadata: { num_trials: 1 } };

test.concurrent.for(['at_least_once', 'at_most_once'])(
  'an answer that arrived while the node was stalled counts: %s',
  async (delivery_mode, context) => {
    const scene = await setScene(context);
    const { program, underWay, delivered } = await send(scene, { subscription: { delivery_mode } });
    const response = await underWay;
    await pause(program, () => response.writeHead(200).end('ok'));
    expect(await delivered()).toMatchObject(OK);
    expect(scene.receiver.requests).toHaveLength(1);
  },
);

test.concurrent('an endpoint has its whole timeout, not counting the time the node was stalled', async (context) => {
  const scene = await setScene(context);
  const { program, underWay, delivered } = await send(scene);
  const response = await underWay;
  await pause(program);
  response.writeHead(200).end('ok');
  expect(await delivered()).toMatchObject(OK);
  expect(scene.receiver.requests).toHaveLength(1);
});

test.concurrent('an endpoint that still does not answer after a pause times out', async (context) => {
  const scene = await setScene(context);
  const { program, underWay, delivered } = await send(scene, {
    subscription: { delivery_mode: 'at_most_once' },
  });
  await underWay;
  await pause(program);
  const delivery = await delivered();
  expect(delivery).toMatchObject({ status: 'Failure', attempts: 1 });
  expect(delivery.description).toContain('did not answer within');
});
