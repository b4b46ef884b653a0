import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonSchema, type OpenApiDocument, type Schema } from '../../src/api/reference/document.ts';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { freePort } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import { shared } from '../support/shared.ts';
import { ReferenceScene } from './reference-scene.ts';
import { type Sample, schemaSamples } from './schema-samples.ts';

const mails = await shared(MailServer.start());
const app = await shared(
  startTestApp({
    POSTHORN_DEFAULTS: 'standard',
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
  [...part.matchAll(/<pre[^>]*><code>(.*?)<\/code><\/pre>/gs)].map(([, text = '']) =>
    text.replaceAll(/&#(\d+);/g, (_whole, number: string) => String.fromCharCode(Number(number))),
  );

/** A page as a reader gets it who asked this host. */
async function pageFor(port: string, host: string, path = '/docs'): Promise<string> {
  const [response] = (await once(get({ host: '127.0.0.1', port, path, headers: { host } }), 'response')) as [
    IncomingMessage,
  ];
  return Buffer.concat(await response.toArray()).toString();
}

const addressFor = async (port: string, host: string) =>
  /<code id="address">(.*?)<\/code>/.exec(await pageFor(port, host))?.[1] ?? '';

it('the base URL is POSTHORN_PUBLIC_URL, or the address that the reader asked', async () => {
  const { port, host } = new URL(app.url);
  expect(await addressFor(port, host)).toBe(app.url);
  expect(await addressFor(port, 'hooks.internal:8080')).toBe('http://hooks.internal:8080');
  const [example] = blocks(await pageFor(port, 'hooks.internal:8080', '/docs/endpoints'));
  expect(example).toContain('curl -s "http://hooks.internal:8080/api/v1/projects/$project/endpoints"');
  const other = String(await freePort());
  await app.addNode({ POSTHORN_PORT: other, POSTHORN_PUBLIC_URL: "https://hooks.example.com/o'neil" });
  expect(await addressFor(other, 'hooks.internal')).toBe('https://hooks.example.com/o&#39;neil');
});

it.each(['a$(touch b)', '"><script>alert(1)</script>', "a'b", 'a'.repeat(300), ''])(
  'a host that is none, %s, is not shown',
  async (host) => {
    const { port } = new URL(app.url);
    expect(await addressFor(port, host)).toBe(app.url);
    if (host !== '') expect(await pageFor(port, host, '/docs/endpoints')).not.toContain(host);
  },
);

it('a page that is not there is a page of its own, with a way back', async () => {
  const response = await fetch(`${app.url}/docs/nonsense`);
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(response.headers.get('content-security-policy')).toContain("script-src 'self';");
  expect(await response.text()).toContain('href="/docs"');
});

const SAMPLES = join(import.meta.dirname, '../../src/api/reference/schema-samples.json');

// curl is not a dependency of the project: without it the examples go unchecked on this machine.
const curlIsHere = spawnSync('curl', ['--version']).status === 0;

/** A reader signs in before asking for the own account, invites before listing, and creates event types before their filters. */
const FIRST = ['checkLink', 'useLink', 'signIn', 'inviteToProject', 'createEventType', 'importEventTypes'];
/** Other examples need what these take away. */
const LATE = ['revokePortalLink', 'removeSecondFactor'];
const LAST = ['signOut'];

interface Example {
  operation: string;
  method: string;
  /** The schemas of its good responses by status. */
  responses: Record<string, Schema | undefined>;
  command: string;
}

/** Deletions come late, those at the end of the reference first: a filter before its subscription before its endpoint. */
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
  const folder = temporaryFolder(afterAll);
  const scene = new ReferenceScene(app);
  let pages: string;
  let variables: Record<string, string>;

  /** Runs lines of the reference in a shell. `include` of curl's own file prints the status and the headers. */
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
    const page = async (path: string) => (await fetch(app.url + path)).text();
    const start = await page('/docs');
    const others = [...new Set([...start.matchAll(/href="(\/docs\/[\w-]+)"/g)].map(([, path = '']) => path))];
    pages = (await Promise.all(others.map(page))).join('');
    const [define = '', takeId = ''] = blocks(start);
    const names = [...define.matchAll(/^(\w+)=/gm)].map(([, name = '']) => name);
    const values = await run(
      [define, takeId, ...[...names, 'endpoint_id'].map((name) => `echo "$${name}"`)].join('\n'),
    );
    variables = Object.fromEntries(values.split('\n').map((value, i) => [names[i] ?? 'endpoint_id', value]));
    writeFileSync(join(folder, '.curlrc'), 'include\n');
  });
  afterAll(() => scene.stop());

  it('of every operation do as printed what the operation says', async () => {
    const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as OpenApiDocument;
    const examples = Object.values(document.paths)
      .flatMap((methods) => Object.entries(methods))
      // These repeat others, whose examples the reference has.
      .filter(([, { operationId }]) => !operationId.endsWith('InPortal'))
      .map(([method, { operationId, responses }]) => ({
        operation: operationId,
        method: method.toUpperCase(),
        responses: Object.fromEntries(
          Object.entries(responses)
            .filter(([status]) => status.startsWith('2'))
            .map(([status, response]) => [status, jsonSchema(response)]),
        ),
        command: blocks(pages.split(`<section id="${operationId}"`)[1] ?? '')[0] ?? '',
      }));
    expect(examples.length).toBeGreaterThan(120);
    const refused: string[] = [];
    const samples: Sample[] = [];
    for (const { operation, responses, command } of inOrder(examples)) {
      const output = await run(command, { ...scene.ids, ...(await scene.before(operation)) });
      const [head = '', body = ''] = output.split('\r\n\r\n');
      const isStream = head.includes('text/event-stream');
      const answer: Json = isStream || !body.startsWith('{') ? { status: isStream } : JSON.parse(body);
      const status = /^HTTP\/1\.1 (\d+) /.exec(head)?.[1] ?? '';
      if (answer.status !== true || !(status in responses)) refused.push(`${operation}: ${output}`);
      else scene.after(operation, answer);
      samples.push({ operation, schema: responses[status] ?? {}, value: answer });
    }
    expect(refused).toEqual([]);
    // The reference shows these values in its responses. CONTRIBUTING.md says when to record them.
    if (process.env['RECORD_SAMPLES'] === '1')
      writeFileSync(SAMPLES, schemaSamples(document, samples, app.url));
  });
});
