import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { HttpClient, type HttpClientOptions } from '../../src/dispatch/client/http-client.ts';
import { GIVE_UP_MS } from '../support/eventually.ts';
import { type DnsAnswer, type DnsServer, startDnsServer } from '../support/servers/dns-server.ts';
import { type LoopbackServer, listen, listenHttp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

async function setUp(
  answerTo: (name: string) => DnsAnswer,
  options: Partial<HttpClientOptions> = {},
): Promise<{ dns: DnsServer; server: LoopbackServer; http: HttpClient }> {
  const dns = untilEnd(await startDnsServer(answerTo));
  const server = untilEnd(await listenHttp((req, res) => res.end(req.headers.host)));
  const http = untilEnd(new HttpClient({ egress: 'any', nameServers: [dns.address], ...options }));
  return { dns, server, http };
}

/** A server that asks for any free port is never given this one. */
const NOBODY_LISTENS = 1;

const send = (http: HttpClient, host: string, port: number, timeoutMs = 9_000) =>
  http.send({
    url: `http://${host}:${port}/`,
    headers: [],
    body: Buffer.from('{}'),
    timeoutMs,
    maxResponseBytes: 1_000,
  });

describe('names', () => {
  test('are resolved, the Host header keeps the name, and the address is reported', async () => {
    const { server, http } = await setUp(() => ({ addresses: ['127.0.0.1'] }));
    const outcome = await send(http, 'Hooks.Example.', server.port);
    expect(outcome).toMatchObject({
      kind: 'response',
      address: '127.0.0.1',
      timings: { dnsMs: expect.any(Number) },
    });
    expect(outcome.kind === 'response' && outcome.body.toString()).toBe(`hooks.example.:${server.port}`);
  });

  test('looked up at once share one query, and its answer is cached for its TTL', async () => {
    const { dns, server, http } = await setUp(() => ({ addresses: ['127.0.0.1'], ttlSeconds: 30 }));
    const sends = Array.from({ length: 20 }, () => send(http, 'hooks.example', server.port));
    await Promise.all(sends);
    const other = untilEnd(await listenHttp((_req, res) => res.end()));
    await send(http, 'hooks.example', other.port);
    expect(dns.queries.sort()).toEqual(['A hooks.example', 'AAAA hooks.example']);
  });

  test('that do not exist are the endpoint’s fault and are not queried again at once', async () => {
    const { dns, http } = await setUp(() => 'not_found');
    for (let i = 0; i < 2; i++)
      expect(await send(http, 'absent.example', 80)).toMatchObject({
        code: 'dns_not_found',
        ours: false,
        message: 'the name absent.example does not exist',
      });
    expect(dns.queries).toHaveLength(2);
  });

  test('whose own servers fail are the endpoint’s fault while other names resolve', async () => {
    const { http } = await setUp((name) => (name === 'broken.example' ? 'server_failure' : 'not_found'));
    expect(await send(http, 'broken.example', 80)).toMatchObject({ code: 'dns_failed', ours: false });
  });

  test('are our fault while the resolver fails for everything', async () => {
    const { http } = await setUp(() => 'server_failure');
    expect(await send(http, 'hooks.example', 80)).toMatchObject({ code: 'dns_failed', ours: true });
    expect(await send(http, 'unrelated.test', 80)).toMatchObject({ code: 'dns_failed', ours: true });
  });

  test('that are not resolved within the limit of the request time out', async () => {
    const { http } = await setUp(() => 'silence');
    expect(await send(http, 'hooks.example', 80, 60)).toMatchObject({
      code: 'timeout',
      message: 'the name hooks.example was not resolved within 60 ms',
    });
  });

  test('being resolved when the client closes end as aborted, and no query is left', async () => {
    const { dns, http } = await setUp(() => 'silence');
    const sending = send(http, 'hooks.example', 80);
    await expect.poll(() => dns.queries.length, { timeout: GIVE_UP_MS }).toBeGreaterThan(0);
    await http.close();
    expect(await sending).toMatchObject({ code: 'aborted', ours: true });
    await expect
      .poll(() => process.getActiveResourcesInfo(), { timeout: GIVE_UP_MS })
      .not.toContain('QueryReqWrap');
  });

  test('of localhost need no name server', async () => {
    const { dns, server, http } = await setUp(() => 'silence');
    expect(await send(http, 'localhost', server.port)).toMatchObject({ kind: 'response' });
    expect(await send(http, 'a.localhost', server.port)).toMatchObject({ kind: 'response' });
    expect(dns.queries).toEqual([]);
  });
});

describe('the address behind a name', () => {
  test('is vetted at connect time: a name that moves to a blocked address is not followed there', async () => {
    let address = '127.0.0.1';
    const { server, http } = await setUp(() => ({ addresses: [address], ttlSeconds: 0 }));
    expect(await send(http, 'rebind.example', server.port)).toMatchObject({ kind: 'response' });
    address = '169.254.169.254';
    // The open connection stays pinned to the address that was vetted.
    expect(await send(http, 'rebind.example', server.port)).toMatchObject({ address: '127.0.0.1' });
    const other = await setUpDns(() => address);
    const fresh = untilEnd(new HttpClient({ egress: 'any', nameServers: [other.address] }));
    expect(await send(fresh, 'rebind.example', server.port)).toMatchObject({
      code: 'address_blocked',
      message:
        'not allowed to connect to rebind.example: 169.254.169.254 is a cloud metadata address, allowed only where POSTHORN_EGRESS_ALLOW names this exact address',
      address: null,
    });
  });

  async function setUpDns(address: () => string): Promise<DnsServer> {
    return untilEnd(await startDnsServer(() => ({ addresses: [address()] })));
  }

  test.each([
    '127.0.0.1',
    '10.0.0.1',
    '0:0:0:0:0:ffff:7f00:1',
    '0:0:0:0:0:0:0:1',
    '64:ff9b:0:0:0:0:7f00:1',
    'fe80:0:0:0:0:0:0:1',
  ])('%s is blocked for public egress', async (address) => {
    const { server, http } = await setUp(() => ({ addresses: [address] }), { egress: 'public' });
    expect(await send(http, 'inside.example', server.port)).toMatchObject({ code: 'address_blocked' });
    expect(server.connections()).toBe(0);
  });

  test('may be one of several: blocked ones are skipped, allowed ones used', async () => {
    const { server, http } = await setUp(() => ({ addresses: ['127.0.0.2', '127.0.0.1'] }), {
      egress: 'public',
      allow: ['127.0.0.1'],
    });
    for (let i = 0; i < 3; i++)
      expect(await send(http, 'mixed.example', server.port)).toMatchObject({ address: '127.0.0.1' });
  });

  test('is tried in turn: if the first refuses the next is used', async () => {
    const answering = createServer((_req, res) => res.setHeader('Connection', 'close').end('ok'));
    const server = untilEnd(await listen(answering, '127.0.0.3'));
    // Other tests listen at 127.0.0.1, perhaps on this very port.
    const addresses = ['127.0.0.5', '127.0.0.4', '127.0.0.3'];
    const { http } = await setUp(() => ({ addresses }));
    expect(await send(http, 'several.example', server.port)).toMatchObject({ address: '127.0.0.3' });
    expect(await send(http, 'several.example', NOBODY_LISTENS)).toMatchObject({ code: 'connection_refused' });
  });

  test('may rotate with every answer without costing the connection', async () => {
    let turn = 0;
    const { server, http } = await setUp(() => ({
      addresses: turn++ % 2 === 0 ? ['127.0.0.1'] : ['127.0.0.2'],
      ttlSeconds: 0,
    }));
    for (let i = 0; i < 10; i++)
      expect(await send(http, 'rotating.example', server.port)).toMatchObject({ kind: 'response' });
    expect(server.connections()).toBe(1);
  });
});
