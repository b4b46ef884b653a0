import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { signatureCases } from '../docs/signature-cases.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { needs } from '../support/suite/parts.ts';
import { launch } from '../web/browser.ts';

/** The build of the client verifies the same requests in every runtime that this machine has. */
const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const SCHEME = { standard: 'standard', ed25519: 'standard', convoy: 'convoy', simple: 'convoy-simple' };

// A Request takes no header values outside of Latin-1.
const cases = signatureCases.filter(({ headers }) => /^[\0-\xff]*$/.test(Object.values(headers).join('')));
const requests = JSON.stringify(
  cases.map(({ check, headers, body, secret }) => ({
    headers,
    secret,
    body: body.toString('hex'),
    schemes: [SCHEME[check]],
  })),
);
const named = (results: unknown[]) =>
  cases.map(({ check, name }, index) => `${check}: ${name}: ${String(results[index])}`);
const expected = named(cases.map(({ accepted }) => accepted));

const folder = temporaryFolder(afterAll);

beforeAll(async () => {
  await run(process.execPath, [join(ROOT, 'client/build.ts'), join(folder, 'dist')]);
  cpSync(join(import.meta.dirname, 'check-signatures.js'), join(folder, 'check-signatures.js'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'main.js'),
    `import { verifyWebhook } from './dist/posthorn.js';
     import { acceptedRequests } from './check-signatures.js';
     console.log(JSON.stringify(await acceptedRequests(verifyWebhook, ${requests})));`,
  );
});

const runtimes = [
  { name: 'Node', command: process.execPath, args: [], part: {} },
  { name: 'Bun', command: 'bun', args: ['run'], part: needs('bun') },
  { name: 'Deno', command: 'deno', args: ['run', '--no-prompt'], part: needs('deno') },
];

for (const { name, command, args, part } of runtimes)
  it(name, part, async () => {
    const { stdout } = await run(command, [...args, 'main.js'], { cwd: folder });
    expect(named(JSON.parse(stdout) as unknown[])).toEqual(expected);
  });

it('Chromium', needs('chromium'), async () => {
  const page = `<script type="module">
    import { verifyWebhook } from './dist/posthorn.js';
    import { acceptedRequests } from './check-signatures.js';
    const results = await acceptedRequests(verifyWebhook, await (await fetch('./requests')).json());
    await fetch('./results', { method: 'POST', body: JSON.stringify(results) });
  </script>`;
  const given: Record<string, string> = { '/': page, '/requests': requests };
  const answer = (path: string) => given[path] ?? readFileSync(join(folder, path), 'utf8');
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'POST') {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => resolve(JSON.parse(text) as unknown[]));
      response.end();
    } else if (pathname === '/favicon.ico') response.writeHead(404).end();
    else {
      const type = pathname.endsWith('.js') ? 'text/javascript' : 'text/html';
      response.writeHead(200, { 'content-type': type }).end(answer(pathname));
    }
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const browser = await launch();
  try {
    await (await browser.newPage()).goto(url);
    expect(named(await promise)).toEqual(expected);
  } finally {
    await browser.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
