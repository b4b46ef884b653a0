import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type DnsAnswer, startDnsServer } from '../../../test/support/servers/dns-server.ts';
import { parseHosts } from './hosts-file.ts';
import { NameResolver } from './name-resolver.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function resolverOver(answerTo: (name: string) => DnsAnswer, hosts = '', queryTimeoutMs = 2_000) {
  const dns = await startDnsServer(answerTo);
  const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
  const hostsPath = join(folder, 'hosts');
  writeFileSync(hostsPath, hosts);
  const resolver = new NameResolver({ nameServers: [dns.address], hostsPath, queryTimeoutMs });
  cleanUps.push(
    () => resolver.close(),
    () => dns.close(),
    () => rmSync(folder, { recursive: true }),
  );
  return { resolver, dns };
}

describe('the name resolver', () => {
  test('gives both families, IPv4 first', async () => {
    const { resolver } = await resolverOver(() => ({ addresses: ['2620:0:0:0:0:0:0:1', '192.0.2.1'] }));
    expect(await resolver.resolve('both.example')).toEqual({
      kind: 'addresses',
      addresses: ['192.0.2.1', '2620::1'],
    });
  });

  test('reads the hosts file first, returns addresses unchanged, and resolves localhost to loopback', async () => {
    const { resolver, dns } = await resolverOver(() => 'silence', '192.0.2.7 Inside other.inside # note\n');
    expect(await resolver.resolve('inside')).toEqual({ kind: 'addresses', addresses: ['192.0.2.7'] });
    expect(await resolver.resolve('other.inside')).toEqual({ kind: 'addresses', addresses: ['192.0.2.7'] });
    expect(await resolver.resolve('::1')).toEqual({ kind: 'addresses', addresses: ['::1'] });
    expect(await resolver.resolve('x.localhost')).toMatchObject({ addresses: ['127.0.0.1', '::1'] });
    expect(dns.queries).toEqual([]);
  });

  test('treats silence of the name servers as our fault', async () => {
    const { resolver } = await resolverOver(() => 'silence', '', 60);
    expect(await resolver.resolve('hooks.example')).toEqual({
      kind: 'failed',
      reason: 'the name servers did not answer',
      ours: true,
    });
    expect(resolver.health.isDown).toBe(true);
  });

  test('repeats a failed query if the process stalled during it', async () => {
    let silences = 0;
    const { resolver } = await resolverOver(
      (name) => {
        if (name !== 'slow.example' || silences >= 4) return { addresses: ['192.0.2.1'] };
        silences++;
        const until = performance.now() + 300;
        while (performance.now() < until);
        return 'silence';
      },
      '',
      100,
    );
    expect(await resolver.resolve('slow.example')).toEqual({ kind: 'addresses', addresses: ['192.0.2.1'] });
    expect(silences).toBe(4);
  });

  test('treats silence for one name as a fault of the endpoint', async () => {
    const { resolver } = await resolverOver(
      (name) => (name === 'mute.example' ? 'silence' : 'not_found'),
      '',
      200,
    );
    expect(await resolver.resolve('mute.example')).toMatchObject({ kind: 'failed', ours: false });
    expect(resolver.health.isDown).toBe(false);
  });

  test('does not wait long for the second family after the first answer', async () => {
    const { resolver, dns } = await resolverOver(() => ({ addresses: ['192.0.2.1'] }));
    expect(await resolver.resolve('one.example')).toMatchObject({ addresses: ['192.0.2.1'] });
    expect(dns.queries).toHaveLength(2);
  });

  test('uses an expired answer while the name servers fail', async () => {
    let answer: DnsAnswer = { addresses: ['192.0.2.1'], ttlSeconds: 0 };
    const { resolver, dns } = await resolverOver(() => answer);
    await resolver.resolve('stale.example');
    answer = 'server_failure';
    const asked = dns.queries.length;
    // The minimum TTL is one second.
    await expect
      .poll(
        async () => {
          await resolver.resolve('stale.example');
          return dns.queries.length;
        },
        { timeout: 5_000 },
      )
      .toBeGreaterThan(asked);
    expect(await resolver.resolve('stale.example')).toEqual({ kind: 'addresses', addresses: ['192.0.2.1'] });
  });

  test.each([`${'a'.repeat(64)}.example`, 'a..b', `${'a.'.repeat(130)}b`])(
    'reports that an impossible name does not exist (%#)',
    async (name) => {
      const { resolver } = await resolverOver(() => ({ addresses: ['192.0.2.1'] }));
      expect(await resolver.resolve(name)).toEqual({ kind: 'not_found' });
    },
  );
});

test('a hosts file is read line by line: comments, blank lines and nonsense are skipped', () => {
  const names = parseHosts(
    '# all\n\n127.0.0.1\tlocalhost a\r\n::1 localhost\nnonsense b\n10.0.0.1\n10.0.0.2 a. #b\n',
  );
  expect([...names]).toEqual([
    ['localhost', ['127.0.0.1', '::1']],
    ['a', ['127.0.0.1', '10.0.0.2']],
  ]);
});
