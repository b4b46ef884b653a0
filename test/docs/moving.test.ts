import { execFile } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { startRecordedConvoy } from '../cli/recorded-convoy.ts';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/moving-from-convoy.md'), 'utf8');
const steps = page.split(/^\*\*\d\. /m);
/** The commands of a step. */
const commandsOf = (name: string): string => {
  const text = steps.find((one) => one.startsWith(`${name}.**`)) ?? '';
  return /^```sh\n(.*?)^```$/ms.exec(text)?.[1] ?? '';
};

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const convoy = await shared(startRecordedConvoy(`${receiver.url}/`));

it('the cut-over of docs/moving-from-convoy.md loses no event, and no receiver acts on one twice', async (context) => {
  const folder = temporaryFolder(context.onTestFinished);
  const target = await app.newProject();
  const { NODE_COMPILE_CACHE, PATH = '' } = process.env;
  const env = {
    PATH: join(ROOT, 'bin') + delimiter + PATH,
    NODE_COMPILE_CACHE,
    HOME: folder,
    POSTHORN_URL: app.url,
    POSTHORN_API_KEY: target.key,
  };
  const run = async (name: string): Promise<{ stdout: string; stderr: string }> => {
    const commands = commandsOf(name)
      .replace('CO...', convoy.key)
      .replace('https://convoy.example.com', convoy.url)
      .replace('01H...', convoy.project);
    expect([name, commands]).not.toEqual([name, '']);
    return promisify(execFile)('sh', ['-euc', commands], { cwd: folder, env });
  };

  // A receiver as step 4 wants it. `acted` is its work.
  const acted: string[] = [];
  receiver.answerAlways(({ path, headers }, response) => {
    const line = `${path} ${String(headers['x-convoy-idempotency-key'])}`;
    if (!acted.includes(line)) acted.push(line);
    appendFileSync(join(folder, 'keys.txt'), `${line}\n`);
    response.writeHead(200).end();
  });
  const services = {
    convoy: { base: `${convoy.url}/api/v1/projects/${convoy.project}`, key: convoy.key },
    posthorn: { base: target.base, key: target.key },
  };
  const wanted: string[] = [];
  /** The program of the page: an event to the three endpoints of an owner. */
  const send = async (idempotency_key: string, to: (keyof typeof services)[]): Promise<void> => {
    const event = { owner_id: 'owner-3', event_type: 'invoice.paid', data: { n: 1 }, idempotency_key };
    for (const name of to) {
      const { base, key } = services[name];
      const { status } = await fetch(`${base}/events/fanout`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(event),
      });
      expect(status).toBe(201);
    }
    wanted.push(...['/3', '/13', '/23'].map((path) => `${path} ${idempotency_key}`));
  };
  const linesAre = (count: number) => eventually(async () => receiver.requests.length, count);
  const enabled = async (): Promise<string[]> =>
    (await target.get('/sources')).content
      .filter(({ is_disabled }: Json) => !is_disabled)
      .map(({ name }: Json) => name);

  await send('before', ['convoy']);
  await linesAre(3);
  await run('Export');
  // The password that Convoy does not show.
  const file = join(folder, 'shop.yaml');
  await expect(run('Plan')).rejects.toMatchObject({ stderr: expect.stringContaining('endpoint endpoint-1') });
  writeFileSync(join(folder, 'password'), 'a password');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('username: ann\n', 'username: ann\n        password: file:password\n'));
  await run('Plan');
  await run('Apply');
  expect(await enabled()).toEqual(['github']);

  rmSync(join(folder, 'keys.txt'));
  for (const key of ['a', 'b', 'c']) await send(key, ['convoy', 'posthorn']);
  await linesAre(3 + 18);
  expect(await run('Compare')).toEqual({ stdout: '', stderr: 'none found\n' });
  // A line that came once is shown.
  await send('only-convoy', ['convoy']);
  expect((await run('Compare')).stdout).toMatch(
    /^ *1 \/13 only-convoy\n *1 \/23 only-convoy\n *1 \/3 only-convoy\n$/,
  );

  expect((await run('Switch sources')).stdout).toContain(`${app.url}/ingest/`);
  expect((await enabled()).toSorted()).toEqual(['github', 'orders']);
  await send('after', ['posthorn']);
  await linesAre(21 + 3 + 3);

  await send('on the way back', ['posthorn']);
  await linesAre(27 + 3);
  const back = await run('Go back');
  expect(back.stderr).toBe('none found\n');
  expect(await enabled()).toEqual(['github']);
  await send('back', ['convoy']);
  await linesAre(30 + 3);
  expect(acted.toSorted()).toEqual(wanted.toSorted());
});
