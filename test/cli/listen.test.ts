import { afterEach, expect, it } from 'vitest';
import { verifyWebhook } from '../../client/src/posthorn.ts';
import { startTestApp } from '../support/app.ts';
import { RunningCommand, runPosthorn } from '../support/command.ts';
import { containing, eventually } from '../support/eventually.ts';
import { freePort } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** `posthorn listen`, against a service. */
const app = await shared(startTestApp());
const local = await shared(Receiver.start());
const env = { POSTHORN_URL: app.url, POSTHORN_API_KEY: app.project.key, POSTHORN_PROJECT: app.projectId };

const running: RunningCommand[] = [];
afterEach(async () => {
  for (const listening of running.splice(0)) {
    listening.interrupt();
    await listening.ended;
  }
});

async function listen(args: string[], extra: Record<string, string> = {}): Promise<RunningCommand> {
  const listening = new RunningCommand(['listen', ...args], { env: { ...env, ...extra } });
  running.push(listening);
  await eventually(async () => listening.stderr, /signed with the secret \S+\n/);
  return listening;
}

const says = (listening: RunningCommand, where: 'stdout' | 'stderr', text: string): Promise<string> =>
  eventually(async () => listening[where], containing(text));
const send = (type: string, data: unknown) =>
  app.project.post('/events/broadcast', { event_type: type, data });
const deliveriesOf = async (type: string) =>
  (await app.project.get(`/eventdeliveries?eventType=${type}`)).content as Record<string, unknown>[];

it('forwards deliveries with their signature and records the local answer', async () => {
  const listening = await listen(['--forward-to', `${local.url}/hooks`, '--event-type', 'cli.*', '--json']);
  const [, secret = ''] = /signed with the secret (\S+)/.exec(listening.stderr) ?? [];
  await send('cli.one', { n: 1 });
  await send('other.one', { n: 2 });
  const [request] = await local.received(1);
  expect([request?.path, request?.json]).toEqual(['/hooks', { n: 1 }]);
  const { headers = {}, body = Buffer.alloc(0) } = request ?? {};
  await verifyWebhook({ headers, body: new Uint8Array(body) }, secret);
  await says(listening, 'stdout', '"status":200');
  await eventually(() => deliveriesOf('cli.one'), [{ status: 'Success' }]);

  local.answerNext(500);
  await send('cli.two', {});
  await says(listening, 'stdout', '"status":500');
  await eventually(() => deliveriesOf('cli.two'), [{ status: 'Failure' }]);
  expect(await deliveriesOf('other.one')).toEqual([]);

  listening.interrupt();
  const { code, stderr } = await listening.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('2 deliveries, 1 of them failed');
});

it('a local program that hangs, dies or is not there is a failed attempt with the reason', async () => {
  const bad = await Receiver.start();
  const listening = await listen(['--forward-to', bad.url, '--event-type', 'bad.*', '--timeout', '1']);
  const failsWith = async (type: string, reason: RegExp) => {
    await send(type, {});
    const [delivery] = await eventually(() => deliveriesOf(type), [{ status: 'Failure' }]);
    const [attempt] = await app.project.get(`/eventdeliveries/${String(delivery?.['uid'])}/deliveryattempts`);
    expect([attempt.http_status, attempt.error]).toEqual(['', expect.stringMatching(reason)]);
  };
  bad.answerNext(
    () => {},
    (_request, response) => response.destroy(),
  );
  await failsWith('bad.hangs', /^the local program did not answer within 1 s$/);
  await failsWith('bad.dies', /^the local program cannot be reached: /);
  await bad.stop();
  await failsWith('bad.gone', /^the local program cannot be reached: /);
  expect(listening.stdout).toContain('did not answer within 1 s');
});

it('stored events come with --since, with the query of their request', async () => {
  const source = await app.project.post('/sources', { name: 'since', type: 'http' });
  const taken = await fetch(`${app.url}/ingest/${source.mask_id}?a=1&b=2`, {
    method: 'POST',
    body: '{"n": 1}',
  });
  expect(taken.ok).toBe(true);
  const args = ['--forward-to', `${local.url}/since?own=1`, '--source', source.uid, '--since', '1d'];
  const listening = await listen(args);
  await says(listening, 'stderr', 'First come 1 delivery of earlier events.');
  const arrived = () => local.requests.filter(({ path }) => path.startsWith('/since'));
  await eventually(async () => arrived(), { length: 1 });
  expect(arrived()[0]).toMatchObject({ path: '/since?own=1&a=1&b=2', json: { n: 1 } });
});

it('connects again by itself when its node stops and starts, and ends if its key was revoked by then', async () => {
  const port = String(await freePort());
  const keys = `/projects/${app.projectId}/keys`;
  const own = await app.instance.post(keys, { name: 'listen' });
  let node = await app.addNode({ POSTHORN_PORT: port });
  const args = ['--forward-to', `${local.url}/again`, '--event-type', 'again.*'];
  const listening = await listen(args, { POSTHORN_URL: node.url, POSTHORN_API_KEY: own.key });
  const breaks = (count: number) =>
    eventually(
      async () => listening.stderr.split('the connection broke; connecting again').length - 1,
      count,
    );
  await node.stop();
  await breaks(1);
  await send('again.one', {});
  node = await app.addNode({ POSTHORN_PORT: port });
  await says(listening, 'stderr', 'connected again');
  await eventually(() => deliveriesOf('again.one'), [{ status: 'Success' }]);
  await node.stop();
  await breaks(2);
  await app.instance.delete(`${keys}/${own.uid}`);
  await app.addNode({ POSTHORN_PORT: port });
  const { code, stderr } = await listening.ended;
  expect(code).toBe(3);
  expect(stderr).toMatch(/posthorn: \S+ refused the key: .*\n$/);
});

it.each([
  [['--forward-to', 'http://192.0.2.1/'], /192\.0\.2\.1 is not this machine; add --allow-remote/],
  [['--filter', '{'], /--filter is not JSON/],
  [['--since', 'yesterday'], /--since must be a duration such as 10m/],
  [['--timeout', '30'], /--timeout must be at most 25/],
])('%j is refused in one line', async (args, problem) => {
  const refused = await runPosthorn(['listen', ...args], { env });
  expect([refused.code, refused.stderr]).toEqual([64, expect.stringMatching(problem)]);
  expect(refused.stderr.trim()).not.toContain('\n');
});

it('a wrong key is refused in one line', async () => {
  const wrong = await runPosthorn(['listen'], { env: { ...env, POSTHORN_API_KEY: 'wrong' } });
  expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringMatching(/refused the key/)]);
});
