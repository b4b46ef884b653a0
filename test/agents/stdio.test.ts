import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { callTool } from '../support/mcp.ts';
import { shared } from '../support/shared.ts';

/** `posthorn mcp`: an assistant on the same machine speaks over stdin and stdout. */
const app = await shared(startTestApp({ POSTHORN_MCP: 'on' }));
const env = { POSTHORN_URL: app.url, POSTHORN_API_KEY: app.project.key };
const ROOT = join(import.meta.dirname, '../..');

const request = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });

async function exchange(messages: readonly unknown[], given: Record<string, string> = env): Promise<Json[]> {
  const input = messages.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');
  const { code, stdout } = await runPosthorn(['mcp'], { env: given, input });
  expect(code).toBe(0);
  const answers = stdout.split('\n').filter((line) => line !== '');
  return answers.map((line) => JSON.parse(line) as Json).toSorted((a, b) => a.id - b.id);
}

test.each(['auto', 'legacy'] as const)('the official client over stdio, %s', async (mode) => {
  const endpoint = await app.project.post('/endpoints', { name: `stdio ${mode}`, url: 'http://127.0.0.1:9' });
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const program = {
    command: join(ROOT, 'bin/posthorn'),
    args: ['mcp'],
    env: { ...process.env, ...env } as never,
  };
  await client.connect(new StdioClientTransport(program));
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
  const { hits } = await callTool(client, 'find', { text: `stdio ${mode}` });
  expect(hits.map(({ uid }: Json) => uid)).toEqual([endpoint.uid]);
  await client.close();
});

test('each message has its answer, and a notification has none', async () => {
  const notified = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const answers = await exchange([
    request(1, 'ping'),
    notified,
    '',
    request(2, 'tools/list'),
    request(3, 'no/such'),
  ]);
  expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(answers[2].error.code).toBe(-32601);
});

test('a service that refuses or is not there is an answer in words', async () => {
  const messageOf = async (given: Record<string, string>) =>
    (await exchange([request(1, 'ping')], { ...env, ...given }))[0].error.message as string;
  expect(await messageOf({ POSTHORN_API_KEY: 'CO.wrong.wrong' })).toContain('unknown, expired or revoked');
  expect(await messageOf({ POSTHORN_URL: 'http://127.0.0.1:1' })).toContain('does not answer');
  const closed = await app.addNode({ POSTHORN_MCP: 'off' });
  expect(await messageOf({ POSTHORN_URL: closed.url })).toContain('POSTHORN_MCP=on');
  const [broken] = await exchange(['{not json', request(2, 'ping')]);
  expect(broken.error?.code ?? 0).toBe(-32700);
});

test('the instance key names its project', async () => {
  const given = { ...env, POSTHORN_API_KEY: app.instance.key };
  const call = request(1, 'tools/call', { name: 'list_endpoints', arguments: {} });
  expect((await exchange([call], given))[0].error.message).toContain('project');
  expect((await exchange([call], { ...given, POSTHORN_PROJECT: app.projectId }))[0].result.isError).toBe(
    false,
  );
});
