import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { verifyWebhook } from '../../client/src/posthorn.ts';
import { startTestApp } from '../support/app.ts';
import { runPosthorn } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { shared } from '../support/shared.ts';

/** `posthorn listen` as a process, against a service. */
const app = await shared(startTestApp());
const local = await shared(Receiver.start());
const MAIN = join(import.meta.dirname, '../../src/main.ts');
const env = { POSTHORN_URL: app.url, POSTHORN_API_KEY: app.project.key, POSTHORN_PROJECT: app.projectId };

interface Listening {
  process: ChildProcess;
  stdout: string;
  stderr: string;
}
const running: Listening[] = [];
afterEach(async () => {
  for (const { process } of running.splice(0)) {
    if (process.exitCode !== null || process.signalCode !== null) continue;
    process.kill('SIGKILL');
    await once(process, 'close');
  }
});

async function listen(...args: string[]): Promise<Listening> {
  const child = spawn(process.execPath, [MAIN, 'listen', ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env },
  });
  const listening: Listening = { process: child, stdout: '', stderr: '' };
  child.stdout.on('data', (text: Buffer) => {
    listening.stdout += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    listening.stderr += text.toString();
  });
  running.push(listening);
  await says(listening, 'stderr', 'Listening as device');
  return listening;
}

const says = (listening: Listening, where: 'stdout' | 'stderr', text: string): Promise<string> =>
  eventually(
    async () => listening[where],
    (output) => output.includes(text),
  );
const send = (type: string, data: unknown) =>
  app.project.post('/events/broadcast', { event_type: type, data });
const deliveriesOf = async (type: string) =>
  (await app.project.get(`/eventdeliveries?eventType=${type}`)).content as Record<string, unknown>[];

it('forwards deliveries with their signature and records the local answer', async () => {
  const listening = await listen('--forward-to', `${local.url}/hooks`, '--event-type', 'cli.*', '--json');
  const [, secret = ''] = /signed with the secret (\S+)/.exec(listening.stderr) ?? [];
  await send('cli.one', { n: 1 });
  await send('other.one', { n: 2 });
  const [request] = await local.received(1);
  expect([request?.path, request?.json]).toEqual(['/hooks', { n: 1 }]);
  const { headers = {}, body = Buffer.alloc(0) } = request ?? {};
  await verifyWebhook({ headers, body: new Uint8Array(body) }, secret);
  await says(listening, 'stdout', '"status":200');
  await eventually(
    () => deliveriesOf('cli.one'),
    ([one]) => one?.['status'] === 'Success',
  );

  local.answerNext(500);
  await send('cli.two', {});
  await says(listening, 'stdout', '"status":500');
  await eventually(
    () => deliveriesOf('cli.two'),
    ([one]) => one?.['status'] === 'Failure',
  );
  expect(await deliveriesOf('other.one')).toEqual([]);

  listening.process.kill('SIGINT');
  expect(await once(listening.process, 'close')).toEqual([0, null]);
  expect(listening.stderr).toContain('2 deliveries, 1 of them failed');
});

it('a local program that is not there is a failed attempt with the reason', async () => {
  const gone = await Receiver.start();
  const { url } = gone;
  await gone.stop();
  const listening = await listen('--forward-to', url, '--event-type', 'gone.*');
  await send('gone.one', {});
  await says(listening, 'stdout', 'cannot be reached');
  await eventually(
    () => deliveriesOf('gone.one'),
    ([one]) => one?.['status'] === 'Failure',
  );
});

it('a target on another machine, and a wrong key, are refused in one line', async () => {
  const remote = await runPosthorn(['listen', '--forward-to', 'http://192.0.2.1/'], { env });
  expect([remote.code, remote.stderr]).toEqual([64, expect.stringContaining('--allow-remote')]);
  const wrong = await runPosthorn(['listen'], { env: { ...env, POSTHORN_API_KEY: 'wrong' } });
  expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringMatching(/refused the key/)]);
});
