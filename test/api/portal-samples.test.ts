import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { samples } from '../../web/src/portal/verify/samples.ts';
import { startTestApp } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

/** How each sample is started. A language that this machine does not have is left out. */
const PROGRAMS: [language: string, file: string, command: string][] = [
  ['Node.js', 'sample.mjs', process.execPath],
  ['Python', 'sample.py', 'python3'],
];

const app = await shared(startTestApp());

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.each(PROGRAMS.filter(([, , command]) => spawnSync(command, ['--version']).status === 0))(
  'the sample of the portal in %s',
  (language, file, command) => {
    it('accepts a right signature and refuses a wrong one', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'posthorn-sample-'));
      const port = await freePort();
      const endpoint = await app.project.post('/endpoints', {
        name: language,
        url: `http://127.0.0.1:${port}/`,
      });
      writeFileSync(join(folder, file), samples.find((one) => one.language === language)?.code ?? '');
      const program: ChildProcess = spawn(command, [join(folder, file)], {
        env: {
          PATH: process.env['PATH'],
          PORT: String(port),
          WEBHOOK_SECRET: endpoint.standard_webhooks_secret,
        },
        stdio: 'ignore',
      });
      try {
        const send = (changed: object) =>
          app.project.post('/endpoints/test', { endpoint_id: endpoint.uid, endpoint: changed }, 200);
        const right = await eventually(
          () => send({}),
          ({ http_status }) => http_status !== '',
        );
        expect(right.http_status).toMatch(/^200/);
        expect((await send({ secret: 'another secret of the same length' })).http_status).toMatch(/^401/);
      } finally {
        program.kill();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
);
