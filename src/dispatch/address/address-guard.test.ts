import { describe, expect, test } from 'vitest';
import { AddressGuard } from './address-guard.ts';

const publicOnly = new AddressGuard({ egress: 'public' });
const any = new AddressGuard({ egress: 'any' });

const NEVER = [
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fe80::1',
  'fe80::1%eth0',
  'febf:ffff::1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::169.254.169.254',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::169.254.169.254',
  '64:ff9b:1:a9fe:a9:fe00::',
  '2002:a9fe:a9fe::1',
  '2001:0:a9fe:a9fe::1',
  // Teredo hides the client's address by inverting it.
  '2001:0:102:304::5601:5601',
  '2620:1:2:3:0:5efe:169.254.169.254',
  '2620:1:2:3:200:5efe:a9fe:a9fe',
];

const NOT_PUBLIC = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::8.8.8.8',
  '::ffff:10.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::8.8.8.8',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:808:808::1',
  '3fff::1',
  '5f00::1',
  '4000::1',
  'fc00::1',
  'fdff::1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
  '2620:1:2:3:0:5efe:10.0.0.1',
];

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2001:200::1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
];

describe('the address guard', () => {
  test.each(NEVER)('never lets %s through, under any egress rule', (ip) => {
    expect(any.verdict(ip).allowed).toBe(false);
    expect(publicOnly.verdict(ip).allowed).toBe(false);
  });

  test.each(NOT_PUBLIC)('blocks %s for public egress', (ip) => {
    expect(publicOnly.verdict(ip).allowed).toBe(false);
  });

  test.each(PUBLIC)('allows the public address %s', (ip) => {
    expect(publicOnly.verdict(ip)).toEqual({ allowed: true });
    expect(any.verdict(ip)).toEqual({ allowed: true });
  });

  test.each(['10.0.0.1', '127.0.0.1', '::1', 'fc00::1', '192.168.1.1'])('allows %s for any egress', (ip) => {
    expect(any.verdict(ip)).toEqual({ allowed: true });
  });

  test.each(['', 'localhost', '1.2.3', '1.2.3.4.5', '::1::', 'example.com'])(
    'refuses %j: no address',
    (ip) => {
      expect(any.verdict(ip).allowed).toBe(false);
    },
  );

  test('the reason names the address and what it is', () => {
    expect(publicOnly.verdict('10.1.2.3')).toEqual({
      allowed: false,
      reason: '10.1.2.3 is a private address, not allowed by POSTHORN_EGRESS=public',
    });
    expect(publicOnly.verdict('::ffff:7f00:1')).toEqual({
      allowed: false,
      reason:
        '::ffff:7f00:1 is an IPv6 form of 127.0.0.1, a loopback address, not allowed by POSTHORN_EGRESS=public',
    });
  });

  test('the reason names the setting that decides', () => {
    const denied = new AddressGuard({ egress: 'any', deny: ['10.0.0.0/8'] });
    const reasonOf = (guard: AddressGuard, url: string) => {
      const verdict = guard.checkUrl(url);
      return verdict.allowed ? null : verdict.reason;
    };
    expect([
      reasonOf(publicOnly, 'http://127.0.0.1:4000/'),
      reasonOf(publicOnly, 'http://localhost/'),
      reasonOf(publicOnly, 'http://[4000::1]/'),
      reasonOf(denied, 'http://10.0.0.1/'),
      reasonOf(any, 'http://169.254.1.1/'),
      reasonOf(any, 'http://169.254.169.254/'),
    ]).toEqual([
      '127.0.0.1 is a loopback address, not allowed by POSTHORN_EGRESS=public',
      'localhost is a loopback name, not allowed by POSTHORN_EGRESS=public',
      '4000::1 is not a public address, not allowed by POSTHORN_EGRESS=public',
      '10.0.0.1 is not allowed by POSTHORN_EGRESS_DENY',
      '169.254.1.1 is a link-local address, allowed only where POSTHORN_EGRESS_ALLOW has its range',
      '169.254.169.254 is a cloud metadata address, allowed only where POSTHORN_EGRESS_ALLOW names this exact address',
    ]);
  });

  test('an allowed range opens blocked addresses inside it, and no others', () => {
    const guard = new AddressGuard({ egress: 'public', allow: ['10.1.0.0/16', 'fd12::/16'] });
    expect(guard.verdict('10.1.255.255').allowed).toBe(true);
    expect(guard.verdict('::ffff:10.1.0.1').allowed).toBe(true);
    expect(guard.verdict('fd12::9').allowed).toBe(true);
    expect(guard.verdict('10.2.0.0').allowed).toBe(false);
    expect(guard.verdict('10.0.255.255').allowed).toBe(false);
  });

  test('a metadata address is opened only by naming it, not by a range around it', () => {
    const wide = new AddressGuard({ egress: 'any', allow: ['0.0.0.0/0', '::/0', '169.254.0.0/16'] });
    expect(wide.verdict('169.254.1.1').allowed).toBe(true);
    expect(wide.verdict('169.254.169.254').allowed).toBe(false);
    expect(wide.verdict('::ffff:169.254.169.254').allowed).toBe(false);
    expect(wide.verdict('fd00:ec2::254').allowed).toBe(false);
    const exact = new AddressGuard({ egress: 'public', allow: ['169.254.169.254'] });
    expect(exact.verdict('169.254.169.254').allowed).toBe(true);
  });

  test('the deny list wins over the allow list, in every spelling', () => {
    const guard = new AddressGuard({ egress: 'any', allow: ['8.8.8.8'], deny: ['8.8.0.0/16', '2620::/16'] });
    expect(guard.verdict('8.8.8.8').allowed).toBe(false);
    expect(guard.verdict('::ffff:8.8.4.4').allowed).toBe(false);
    expect(guard.verdict('2620::1').allowed).toBe(false);
    expect(guard.verdict('8.9.0.0').allowed).toBe(true);
  });

  test.each(['10.0.0.0/33', 'nonsense', '10.0.0.0/8/8', '::/129', '10.0.0.0/-1', ''])(
    'a list entry %j is refused when the guard is created',
    (entry) => {
      expect(() => new AddressGuard({ egress: 'any', deny: [entry] })).toThrow(TypeError);
    },
  );
});

const LOOPBACK_SPELLINGS = [
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.0.0.1./',
  'http://127.0.0.0x1./',
  'http://%31%32%37.0.0.1/',
  'http://127.0.0.1%2e/',
  'http://①②⑦.⓪.⓪.①/',
  'http://１２７。０．０｡１/',
  'http://127。0。0。1:8080/x',
  'http:\\\\127.0.0.1\\',
  'http:/127.0.0.1/',
  'HTTP://127.0.0.1',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::FFFF:7F00:1]:81/',
  'http://[::127.0.0.1]/',
  'http://0/',
  'http://[::]/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://a.localhost/',
];

describe('checking a URL', () => {
  test.each(LOOPBACK_SPELLINGS)('sees the local address in %s', (url) => {
    expect(publicOnly.checkUrl(url).allowed).toBe(false);
  });

  test.each(LOOPBACK_SPELLINGS.filter((url) => !/\/(0|\[::\])\//.test(url)))('allows %s for any', (url) => {
    expect(any.checkUrl(url)).toEqual({ allowed: true });
  });

  test.each(['http://169.254.169.254/latest', 'http://0xa9fea9fe/', 'http://[::ffff:a9fe:a9fe]/'])(
    'blocks metadata in %s for any',
    (url) => {
      expect(any.checkUrl(url).allowed).toBe(false);
    },
  );

  test.each([
    ['ftp://example.com/', /http/],
    ['file:///etc/passwd', /http/],
    ['javascript:alert(1)', /http/],
    ['nothing', /parsed/],
    ['', /parsed/],
    ['http://', /parsed/],
    ['http://[::1%25eth0]/', /parsed/],
    ['http://256.1.1.1/', /parsed/],
    ['http://user@example.com/', /password/],
    ['http://user:secret@example.com/', /password/],
    ['http://example.com:0/', /port 0/],
    ['http://127.0.0.1../', /host name/],
    ['http://a..b/', /host name/],
    [`http://${'a'.repeat(64)}.example/`, /host name/],
  ])('refuses %s with a reason', (url, reason) => {
    const verdict = any.checkUrl(url);
    expect(verdict).toEqual({ allowed: false, reason: expect.stringMatching(reason) });
    expect(JSON.stringify(verdict)).not.toContain('secret');
  });

  test.each(['http://example.com', 'https://hooks.example.com:8443/a?b=c#d', 'https://bücher.example/ü'])(
    'allows %s',
    (url) => {
      expect(publicOnly.checkUrl(url)).toEqual({ allowed: true });
      expect(publicOnly.checkUrl(new URL(url))).toEqual({ allowed: true });
    },
  );
});
