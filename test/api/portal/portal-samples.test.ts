import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { samples } from '../../../web/src/portal/verify/samples.ts';
import { startTestApp } from '../../support/app.ts';
import { eventually, not } from '../../support/eventually.ts';
import { freePort } from '../../support/program.ts';
import { temporaryFolder } from '../../support/samples/temporary-folder.ts';
import { shared } from '../../support/shared.ts';
import { needs, type PartKey } from '../../support/suite/parts.ts';

interface Program {
  language: string;
  file: string;
  /** Null: npm brings it. */
  part: PartKey | null;
  /** Makes a program of the file, for languages that need it. */
  build?(file: string): [command: string, ...options: string[]];
  run(file: string, port: number): [command: string, ...options: string[]];
  /** Code around a sample that is no program by itself. */
  rest?: string;
}

const RUBY_SERVER = String.raw`
require 'socket'
server = TCPServer.new('127.0.0.1', ENV['PORT'].to_i)
loop do
  socket = server.accept
  head = +''
  head << socket.gets until head.end_with?("\r\n\r\n")
  lines = head.split("\r\n").drop(1)
  headers = lines.to_h { |line| line.split(': ', 2) }.transform_keys(&:downcase)
  body = socket.read(headers['content-length'].to_i)
  status = verify(headers, body, ENV['WEBHOOK_SECRET']) ? 200 : 401
  socket.write("HTTP/1.1 #{status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
  socket.close
end
`;

/** Takes away the functions that JavaScript got after Node 18. Our own Node needs some of them while it loads modules. */
const NODE_18 = `data:text/javascript,${encodeURIComponent(`
  import 'node:crypto';
  import 'node:http';
  for (const [owner, names] of [
    [Array, ['fromAsync']],
    [Array.prototype, ['toSorted', 'toReversed', 'toSpliced', 'with']],
    [Object, ['groupBy']],
    [Map, ['groupBy']],
    [Promise, ['withResolvers', 'try']],
    [Set.prototype, ['union', 'intersection', 'difference', 'isSubsetOf']],
    [Uint8Array, ['fromBase64', 'fromHex']],
    [Uint8Array.prototype, ['toBase64', 'toHex']],
    [globalThis, ['Iterator', 'Temporal', 'WebSocket']],
  ]) for (const name of names) delete owner[name];
`)}`;

const PROGRAMS: Program[] = [
  {
    language: 'Node.js',
    file: 'sample.mjs',
    part: null,
    run: (file) => [process.execPath, '--import', NODE_18, file],
  },
  {
    language: 'Python',
    file: 'sample.py',
    part: 'python',
    run: (file) => ['python3', file],
  },
  {
    language: 'Go',
    file: 'sample.go',
    part: 'go',
    build: (file) => ['go', 'build', '-o', `${file}.out`, file],
    run: (file) => [`${file}.out`],
  },
  {
    language: 'PHP',
    file: 'sample.php',
    part: 'php',
    run: (file, port) => ['php', '-S', `127.0.0.1:${port}`, file],
  },
  {
    language: 'Ruby',
    file: 'sample.rb',
    part: 'ruby',
    run: (file) => ['ruby', file],
    rest: RUBY_SERVER,
  },
];

const succeeds = ([command, ...options]: [string, ...string[]], cwd?: string): boolean =>
  spawnSync(command, options, { cwd, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;

const app = await shared(startTestApp());

test('every sample of the portal is run', () => {
  expect(PROGRAMS.map(({ language }) => language)).toEqual(samples.map(({ language }) => language));
});

describe.each(PROGRAMS)('the sample of the portal in $language', (program) => {
  const part = program.part === null ? {} : needs(program.part);
  it('accepts a right signature and refuses a wrong one', part, async () => {
    const { language, build, run, rest = '' } = program;
    const folder = temporaryFolder();
    const file = join(folder, program.file);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const endpoint = await app.project.post('/endpoints', { name: language, url });
    writeFileSync(file, (samples.find((one) => one.language === language)?.code ?? '') + rest);
    expect(build === undefined || succeeds(build(file), folder)).toBe(true);
    const [command, ...options] = run(file, port);
    const started = spawn(command, options, {
      env: {
        PATH: process.env['PATH'],
        PORT: String(port),
        WEBHOOK_SECRET: endpoint.standard_webhooks_secret,
      },
      stdio: 'ignore',
    });
    onTestFinished(() => void started.kill());
    const send = (changed: object) =>
      app.project.post('/endpoints/test', { endpoint_id: endpoint.uid, endpoint: changed }, 200);
    const right = await eventually(() => send({}), { http_status: not('') });
    expect(right.http_status).toMatch(/^200/);
    expect((await send({ secret: 'another secret of the same length' })).http_status).toMatch(/^401/);
  });
});
