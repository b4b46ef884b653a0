import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { freePort } from '../support/program.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import { shared } from '../support/shared.ts';
import { ReferenceScene } from './reference-scene.ts';

const mails = await shared(MailServer.start());
const app = await shared(
  startTestApp({
    POSTHORN_SMTP_URL: mails.url,
    POSTHORN_SMTP_FROM: 'posthorn@example.com',
    // Without the role that runs jobs, so that a job can be cancelled.
    POSTHORN_ROLES: 'api,ingest,deliver',
    // The built-in receiver is not on the network, and nothing else may be called.
    POSTHORN_EGRESS_DENY: '0.0.0.0/0,::/0',
  }),
);

/** The blocks of code in a part of the page, as a reader copies them. */
const blocks = (part: string): string[] =>
  [...part.matchAll(/<pre><code>(.*?)<\/code><\/pre>/gs)].map(([, text = '']) =>
    text
      .replaceAll(/&#(\d+);/g, (_whole, number: string) => String.fromCharCode(Number(number)))
      .replaceAll('&gt;', '>'),
  );

/** The address that the page shows to a reader who asked this host. */
async function addressFor(port: string, host: string): Promise<string> {
  const [response] = (await once(
    get({ host: '127.0.0.1', port, path: '/docs', headers: { host } }),
    'response',
  )) as [IncomingMessage];
  const page = Buffer.concat(await response.toArray()).toString();
  return /^url=(.*)$/m.exec(blocks(page)[0] ?? '')?.[1] ?? '';
}

it('the base URL is POSTHORN_PUBLIC_URL, or the address that the reader asked', async () => {
  const { port, host } = new URL(app.url);
  expect(await addressFor(port, host)).toBe(app.url);
  expect(await addressFor(port, 'hooks.internal:8080')).toBe('http://hooks.internal:8080');
  expect(await addressFor(port, 'a$(touch b)')).toBe(app.url);
  const other = String(await freePort());
  await app.addNode({ POSTHORN_PORT: other, POSTHORN_PUBLIC_URL: 'https://hooks.example.com' });
  expect(await addressFor(other, 'hooks.internal')).toBe('https://hooks.example.com');
});

// curl is not a dependency of the project: without it the examples go unchecked on this machine.
const curlIsHere = spawnSync('curl', ['--version']).status === 0;

/** A reader signs in before asking for the own account, and creates event types before their filters. */
const FIRST = ['checkLink', 'useLink', 'signIn', 'createEventType', 'importEventTypes'];
/** Other examples need what these take away. */
const LATE = ['revokePortalLink', 'removeSecondFactor'];
const LAST = ['signOut'];

interface Example {
  operation: string;
  method: string;
  statuses: string[];
  command: string;
}

/** Deletions come late, those at the end of the page first: a filter before its subscription before its endpoint. */
function inOrder(examples: Example[]): Example[] {
  const of = (names: string[]) =>
    names.flatMap((name) => examples.filter(({ operation }) => operation === name));
  const isNamed = ({ operation }: Example) => [...FIRST, ...LATE, ...LAST].includes(operation);
  const others = examples.filter((one) => !isNamed(one));
  const deletions = others.filter(({ method }) => method === 'DELETE').toReversed();
  return [
    ...of(FIRST),
    ...others.filter(({ method }) => method !== 'DELETE'),
    ...of(LATE),
    ...deletions,
    ...of(LAST),
  ];
}

describe.runIf(curlIsHere)('the examples', () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-reference-'));
  const scene = new ReferenceScene(app);
  let page: string;
  let variables: Record<string, string>;

  /** Runs lines of the page in a shell. `include` of curl's own file prints the status and the headers. */
  async function run(lines: string, ids: Record<string, string> = {}): Promise<string> {
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, ...variables, ...ids };
    const child = spawn('sh', ['-euc', lines], { cwd: folder, env, detached: true });
    let output = '';
    child.stderr.on('data', (text: Buffer) => {
      output += text.toString();
    });
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString();
      // A stream has no end.
      if (output.includes('text/event-stream') && output.includes(': posthorn'))
        process.kill(-(child.pid ?? 0), 'SIGTERM');
    });
    await once(child, 'close');
    return output;
  }

  beforeAll(async () => {
    await scene.setUp();
    mkdirSync(join(folder, '.posthorn'));
    const credentials = {
      api_key: app.project.key,
      instance_key: app.instance.key,
      project_id: app.projectId,
    };
    writeFileSync(join(folder, '.posthorn/credentials.json'), JSON.stringify(credentials));
    page = await (await fetch(`${app.url}/docs`)).text();
    const [start = '', takeId = ''] = blocks(page);
    const names = [...start.matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
    const values = await run(
      [start, takeId, ...[...names, 'endpoint_id'].map((name) => `echo "$${name}"`)].join('\n'),
    );
    variables = Object.fromEntries(values.split('\n').map((value, i) => [names[i] ?? 'endpoint_id', value]));
    writeFileSync(join(folder, '.curlrc'), 'include\n');
  });
  afterAll(async () => {
    await scene.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('of every operation do as printed what the operation says', async () => {
    const { paths } = await fetchOpenApi(app.url);
    const examples = Object.values<Json>(paths)
      .flatMap((methods) => Object.entries<Json>(methods))
      .filter(([, { tags }]) => tags[0] !== 'Portal')
      .map(([method, { operationId, responses }]) => ({
        operation: operationId,
        method: method.toUpperCase(),
        statuses: Object.keys(responses).filter((status) => status.startsWith('2')),
        command: blocks(page.split(`<section id="${operationId}">`)[1] ?? '')[0] ?? '',
      }));
    expect(examples.length).toBeGreaterThan(120);
    const refused: string[] = [];
    for (const { operation, statuses, command } of inOrder(examples)) {
      const output = await run(command, { ...scene.ids, ...(await scene.before(operation)) });
      const [head = '', body = ''] = output.split('\r\n\r\n');
      const isStream = head.includes('text/event-stream');
      const answer: Json = isStream || !body.startsWith('{') ? { status: isStream } : JSON.parse(body);
      const isDeclared = statuses.some((status) => head.startsWith(`HTTP/1.1 ${status} `));
      if (answer.status !== true || !isDeclared) refused.push(`${operation}: ${output}`);
      else scene.after(operation, answer);
    }
    expect(refused).toEqual([]);
  });
});
