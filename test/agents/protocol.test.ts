import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createMCPClient } from '@ai-sdk/mcp';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { callTool, connectMcp } from '../support/mcp.ts';
import { shared } from '../support/shared.ts';

/** The messages of the protocol on the wire: revisions, headers, access, and any node for any request. */
const app = await shared(startTestApp({ POSTHORN_MCP: 'on' }));
const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';

async function post(
  body: unknown,
  {
    key = app.project.key,
    path = '/mcp',
    headers = {},
  }: { key?: string | null; path?: string; headers?: object } = {},
): Promise<{ status: number; json: Json; headers: Headers }> {
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === '' ? null : JSON.parse(text) };
}

const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 7, method, params });
const modern = (method: string, params: object = {}, revision = MODERN) =>
  request(method, {
    ...params,
    _meta: { [`${META}protocolVersion`]: revision, [`${META}clientCapabilities`]: {} },
  });
const modernHeaders = (method: string, more: object = {}) => ({
  'mcp-protocol-version': MODERN,
  'mcp-method': method,
  ...more,
});

// proves Instance: POSTHORN_MCP
test('a node serves /mcp only with POSTHORN_MCP on', async () => {
  const closed = await app.addNode({ POSTHORN_MCP: 'off' });
  const answer = await fetch(`${closed.url}/mcp`, { method: 'POST', body: '{}' });
  expect(answer.status).toBe(404);
  expect((await post(request('ping'))).json).toMatchObject({ id: 7, result: {} });
});

test('a node without the role api serves no /mcp', async () => {
  const node = await app.addNode({ POSTHORN_ROLES: 'ingest,deliver' });
  expect((await fetch(`${node.url}/mcp`, { method: 'POST', body: '{}' })).status).toBe(404);
});

test('an earlier revision opens with initialize, and no session is made', async () => {
  for (const [asked, given] of [
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-11-25'],
    ['2024-11-05', '2025-11-25'],
    [MODERN, '2025-11-25'],
  ]) {
    const { json, headers } = await post(request('initialize', { protocolVersion: asked, capabilities: {} }));
    expect(json.result).toMatchObject({ protocolVersion: given, serverInfo: { name: 'posthorn' } });
    expect(json.result.capabilities).toEqual({ tools: {}, events: {} });
    expect(headers.get('mcp-session-id')).toBeNull();
  }
  const notified = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  expect([notified.status, notified.json]).toEqual([202, null]);
});

test('the current revision is served without a handshake', async () => {
  const { json } = await post(modern('server/discover'), { headers: modernHeaders('server/discover') });
  expect(json.result).toMatchObject({
    resultType: 'complete',
    cacheScope: 'private',
    supportedVersions: [MODERN, '2025-11-25', '2025-06-18'],
  });
  const call = modern('tools/call', { name: 'list_endpoints', arguments: {} });
  const named = (name: string) => ({ headers: modernHeaders('tools/call', { 'mcp-name': name }) });
  expect((await post(call, named('list_endpoints'))).json.result.isError).toBe(false);
  const encoded = `=?base64?${Buffer.from('list_endpoints').toString('base64')}?=`;
  expect((await post(call, named(encoded))).json.result.isError).toBe(false);
  const unknown = await post(modern('resources/list'), { headers: modernHeaders('resources/list') });
  expect([unknown.status, unknown.json.error.code]).toEqual([404, -32601]);
});

describe.each([MODERN, '2025-11-25', '2025-06-18'])('a client that knows %s only', (revision) => {
  test('of the official library pings, lists and calls', async () => {
    const mode = revision === MODERN ? 'auto' : 'legacy';
    const client = await connectMcp(app.url, app.project.key, { mode, revision });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    // The current revision has no ping.
    if (mode === 'legacy') expect(await client.ping()).toEqual({});
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    expect(await callTool(client, 'list_endpoints')).toHaveProperty('endpoints');
    await client.close();
  });
});

test.each([true, false])('a client of the AI SDK, that asks for the revisions: %s', async (asks) => {
  const headers = { authorization: `Bearer ${app.project.key}` };
  const client = await createMCPClient({
    transport: { type: 'http', url: `${app.url}/mcp`, headers },
    protocolVersionDiscovery: asks,
  });
  expect((await client.listTools()).tools.length).toBeGreaterThan(10);
  await client.close();
});

test('members of the current revision are in its results only', async () => {
  const initialize = { protocolVersion: '2025-06-18', capabilities: {} };
  const call = { name: 'list_endpoints', arguments: {} };
  const results: [string, object, string[]][] = [
    ['initialize', initialize, ['protocolVersion', 'capabilities', 'serverInfo', 'instructions']],
    ['ping', {}, []],
    ['tools/list', {}, ['tools']],
    ['tools/call', call, ['content', 'isError']],
    ['events/list', {}, ['events']],
  ];
  for (const [method, params, members] of results) {
    const { json } = await post(request(method, params));
    expect([method, Object.keys(json.result)]).toEqual([method, members]);
  }
  const { json } = await post(modern('tools/list'), { headers: modernHeaders('tools/list') });
  expect(Object.keys(json.result)).toEqual(['resultType', 'ttlMs', 'cacheScope', 'tools', '_meta']);
});

/** A call of a browser: the name by which it reached the node, and the origin of the page. */
async function statusFor(host: string, origin: string, more: object = {}): Promise<number | undefined> {
  const { hostname, port } = new URL(app.url);
  const headers = {
    authorization: app.project.key,
    'content-type': 'application/json',
    host,
    origin,
    ...more,
  };
  const sent = httpRequest({ hostname, port, path: '/mcp', method: 'POST', headers });
  const [answer] = (await once(sent.end(JSON.stringify(request('ping'))), 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test('the page of this service may call by its address, and a page of another origin may not', async () => {
  const { port } = new URL(app.url);
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
    expect([host, await statusFor(host, `http://${host}`)]).toEqual([host, 200]);
  expect(await statusFor(`127.0.0.1:${port}`, app.url, { 'sec-fetch-site': 'same-origin' })).toBe(200);
  const refused = [
    ['localhost', 'http://evil.example'],
    ['localhost', 'null'],
    ['localhost', 'http://127.0.0.1:1'],
    // A page of theirs whose name leads here by now.
    ['evil.example', 'http://evil.example'],
  ] as const;
  for (const [host, origin] of refused)
    expect([origin, await statusFor(`${host}:${port}`, origin)]).toEqual([origin, 403]);
  const rebound = `evil.example:${port}`;
  expect(await statusFor(rebound, `http://${rebound}`)).toBe(403);
  expect(await statusFor(`localhost:${port}`, app.url, { 'sec-fetch-site': 'cross-site' })).toBe(403);
});

describe('refused', () => {
  const refusals: [string, [number, number], unknown, object?][] = [
    ['no JSON', [400, -32700], '{'],
    ['a batch', [400, -32600], [request('ping')]],
    ['a response', [400, -32600], { jsonrpc: '2.0', id: 1, result: {} }],
    ['another JSON-RPC', [400, -32600], { id: 1, method: 'ping' }],
    ['params that are a list', [400, -32600], { ...request('ping'), params: [] }],
    [
      'a revision of the future',
      [400, -32022],
      modern('ping', {}, '2999-01-01'),
      { 'mcp-protocol-version': '2999-01-01' },
    ],
    [
      'an unknown revision in the header',
      [400, -32022],
      request('ping'),
      { 'mcp-protocol-version': '1999-01-01' },
    ],
    [
      'a revision that is no longer offered',
      [400, -32022],
      request('ping'),
      { 'mcp-protocol-version': '2025-03-26' },
    ],
    ['no header for the revision', [400, -32020], modern('ping')],
    ['a header for another method', [400, -32020], modern('tools/list'), modernHeaders('tools/call')],
    [
      'a header for another tool',
      [400, -32020],
      modern('tools/call', { name: 'find' }),
      modernHeaders('tools/call', { 'mcp-name': 'get_job' }),
    ],
    ['an unknown method', [200, -32601], request('prompts/list')],
    ['a name of Object', [200, -32601], request('constructor')],
    ['a tool without a name', [200, -32602], request('tools/call', {})],
  ];
  test('a message that nests too deep', async () => {
    const nested = JSON.parse('['.repeat(100) + ']'.repeat(100)) as unknown;
    const answer = await post(request('ping', { nested }));
    expect([answer.status, answer.json.code]).toEqual([400, 'too_deep']);
  });

  test.each(refusals)('%s', async (_name, refusal, body, headers = {}) => {
    const answer = await post(body, { headers });
    expect([answer.status, answer.json.error.code]).toEqual(refusal);
  });
});

test('the caller is a key or a portal token, and its project its own', async () => {
  const call = request('tools/call', { name: 'list_endpoints', arguments: {} });
  expect((await post(call, { key: null })).status).toBe(401);
  expect((await post(call, { key: 'CO.nonsense.nonsense' })).status).toBe(401);
  const other = await app.newProject();
  const foreign = await post(call, { path: `/mcp?project_id=${other.projectId}` });
  expect([foreign.json.error.code, foreign.json.error.message]).toEqual([
    -32602,
    expect.stringContaining(other.projectId),
  ]);
  const instance = app.instance.key;
  expect((await post(call, { key: instance })).json.error.code).toBe(-32602);
  const parent = await post(call, { key: instance, path: '/mcp?project_id=..' });
  expect(parent.json.error?.message).toBe('There is no project ...');
  const named = await post(call, { key: instance, path: `/mcp?project_id=${other.projectId}` });
  expect(named.json.result.isError).toBe(false);
  const page = await post(call, { headers: { origin: 'https://evil.example' } });
  expect([page.status, page.json.code]).toEqual([403, 'cross_site']);
  for (const method of ['GET', 'DELETE']) {
    const answer = await fetch(`${app.url}/mcp`, {
      method,
      headers: { authorization: `Bearer ${app.project.key}` },
    });
    expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
  }
});

test('a request that began on one node continues on another', async () => {
  const node = await app.addNode();
  const endpoint = await app.project.post('/endpoints', { name: 'any node', url: 'http://127.0.0.1:9' });
  for (const url of [app.url, node.url]) {
    const client = await connectMcp(url, app.project.key, { mode: 'legacy' });
    const { hits } = await callTool(client, 'find', { text: 'any node' });
    expect(hits.map(({ uid }: Json) => uid)).toEqual([endpoint.uid]);
  }
  const onward = await fetch(`${node.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: app.project.key,
      'content-type': 'application/json',
      'mcp-session-id': 'of another node',
    },
    body: JSON.stringify(request('tools/list')),
  });
  expect(((await onward.json()) as Json).result.tools.length).toBeGreaterThan(10);
});

test('the calls of a tool count against the rate of its key', async () => {
  const node = await app.addNode({ POSTHORN_API_RATE: '3' });
  const client = await connectMcp(node.url, (await app.newProject()).key).catch(
    (error: Error) => error.message,
  );
  const answers = typeof client === 'string' ? [client] : [];
  if (typeof client !== 'string')
    for (let i = 0; i < 8; i++)
      answers.push(await callTool(client, 'list_endpoints').then(({ refused = '' }) => refused, String));
  expect(
    answers.some(
      (text) => text.includes('rate_limited') || text.includes('429') || text.includes('Too many'),
    ),
  ).toBe(true);
});
