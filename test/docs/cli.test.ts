import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Program } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const ROOT = join(import.meta.dirname, '../..');
const receiver = await shared(Receiver.start());

it('the tour of docs/cli.md runs as written, in the folder of a service that was started there', async (context) => {
  const page = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);
  expect(blocks.length).toBeGreaterThan(8);
  const tour = blocks.join('\n').replaceAll('http://127.0.0.1:4000/', `${receiver.url}/`);

  // In place of the project's folder, which the tour would write to.
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, 'bin'), join(folder, 'bin'));
  const service = new Program({
    command: ['bin/posthorn', 'serve'],
    cwd: folder,
    env: { POSTHORN_PORT: '0' },
  });
  context.onTestFinished(() => service.end());
  await service.ready();

  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: folder };
  const { stdout } = await promisify(execFile)('sh', ['-euc', tour], { cwd: folder, env });
  expect(stdout).toContain('invoice.paid');
  expect(stdout).toContain('replayed: 1 (job ');
  expect(stdout).toContain('The signature is right (scheme standard, id 1).');
  expect(stdout).toContain('No changes.\n');
  expect(stdout).toContain('~ update endpoint billing: name (1 of 1)\n1 change applied.\n');
  expect(stdout).toMatch(/^ok +partitions +made until /m);
  const [first] = await receiver.received(2);
  expect(first?.body.toString()).toBe('{"invoice":7}');
});
