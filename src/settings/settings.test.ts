import { describe, expect, test } from 'vitest';
import { StartupError } from '../platform/startup-error.ts';
import { egressRule } from './exposure.ts';
import { readConfig, settings } from './settings.ts';
import { shownSettings } from './shown-settings.ts';

const KEY = 'k'.repeat(32);

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(StartupError);
    return (error as Error).message;
  }
  throw new Error('the settings were accepted');
}

describe('settings', () => {
  test('of mail need each other', () => {
    const url = { POSTHORN_SMTP_URL: 'smtp://user:password@127.0.0.1:587' };
    expect(refusal(url)).toMatch(/POSTHORN_SMTP_FROM/);
    expect(refusal({ POSTHORN_SMTP_URL: 'http://user:password@127.0.0.1' })).not.toMatch(/password/);
    expect(readConfig({ ...url, POSTHORN_SMTP_FROM: 'a@example.com' }).smtpFrom).toBe('a@example.com');
  });

  test('are shown with their values, secrets left out', () => {
    const config = readConfig({ POSTHORN_PORT: '80', POSTHORN_SECRET_KEY: 'k'.repeat(32) });
    const shown = new Map(shownSettings(config).map((setting) => [setting.name, setting]));
    expect(shown.get('POSTHORN_PORT')).toMatchObject({ value: '80', isSet: true, fallback: '5005' });
    expect(shown.get('POSTHORN_HOST')).toMatchObject({ value: '127.0.0.1', isSet: false });
    expect(shown.get('POSTHORN_SECRET_KEY')).toMatchObject({ value: null, isSet: true });
    expect(shown.get('DATABASE_URL')).toMatchObject({ value: null, isSet: false });
    expect(JSON.stringify(config.given)).not.toContain('kkk');
  });

  test('are all optional, and an empty one counts as not given', () => {
    const blank = Object.fromEntries(Object.values(settings).map(({ env }) => [env, '']));
    expect(readConfig(blank)).toEqual(readConfig({}));
    expect(readConfig({})).toMatchObject({ host: '127.0.0.1', port: 5005, dataDir: './.posthorn' });
  });

  test.each([
    ['POSTHORN_PORT', 'http', 'a whole number from 0 to 65535'],
    ['POSTHORN_PORT', '65536', 'a whole number from 0 to 65535'],
    ['POSTHORN_PORT', '-1', 'a whole number from 0 to 65535'],
    ['POSTHORN_PORT', '80.5', 'a whole number from 0 to 65535'],
    ['POSTHORN_DATABASE_CONNECTIONS', '6', 'a whole number from 7 to 1000'],
    ['POSTHORN_SEARCH_SECONDS', '0', 'a whole number from 1 to 60'],
    ['POSTHORN_MAX_ORDERED_FANOUT', '999', 'a whole number from 1000 to 1000000'],
    ['POSTHORN_TIMELINE_WAIT', '0', 'a whole number from 1 to 86400'],
    ['POSTHORN_PROCESSES', '0', 'a whole number from 1 to 128'],
    ['POSTHORN_PROCESSES', '129', 'a whole number from 1 to 128'],
    ['POSTHORN_PROCESSES', 'all', 'a whole number from 1 to 128'],
    ['POSTHORN_PROCESSES', '1.5', 'a whole number from 1 to 128'],
    ['POSTHORN_LOG_LEVEL', 'loud', 'one of trace, debug, info, warn, error, silent'],
    ['POSTHORN_EGRESS', 'private', 'one of any, public'],
    ['POSTHORN_WORKLOAD_CREDENTIALS', 'aws,azure', 'one of aws, google'],
    ['POSTHORN_MCP', 'yes', 'one of off, on'],
    ['POSTHORN_MCP_SUBSCRIPTIONS', '0', 'a whole number from 1 to 1000'],
    ['POSTHORN_DEFAULTS', 'svix', 'one of standard, convoy'],
    ['POSTHORN_ROLES', 'api,cook', 'one of api, ingest, deliver, broker, janitor'],
    ['POSTHORN_ROLES', ',', 'at least one of api, ingest, deliver, broker, janitor'],
    ['POSTHORN_PUBLIC_URL', 'example.org', 'a URL starting with http:// or https://'],
    ['POSTHORN_PUBLIC_URL', 'ftp://example.org', 'a URL starting with http:// or https://'],
    ['POSTHORN_EGRESS_ALLOW', '10.0.0.0/33', 'addresses or CIDR ranges, comma separated'],
    ['POSTHORN_EGRESS_DENY', 'example.org', 'addresses or CIDR ranges, comma separated'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.1', 'a number from 0 to 1'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half', 'a number from 0 to 1'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', 'a URL starting with http:// or https://'],
    ['POSTHORN_SOURCE_ADDRESSES', '203.0.113.7, example.com', 'addresses or CIDR ranges, comma separated'],
    ['POSTHORN_TRUSTED_PROXIES', '10.0.0.1, ten', 'addresses or CIDR ranges, comma separated'],
  ])('%s=%s is refused with the expected form', (name, value, expected) => {
    expect(refusal({ [name]: value })).toBe(`bad value "${value}" for ${name}: expected ${expected}`);
  });

  test('with a range take its ends and nothing beyond them', () => {
    const ranges = Object.values(settings).flatMap(({ parse }) => {
      const [, least, most] = /^a whole number from (\d+) to (\d+)$/.exec(parse.allowed) ?? [];
      return least === undefined ? [] : [{ parse, least: Number(least), most: Number(most) }];
    });
    expect(ranges.length).toBeGreaterThan(10);
    for (const { parse, least, most } of ranges) {
      expect([parse(String(least)), parse(String(most))]).toEqual([least, most]);
      expect(() => parse(String(least - 1))).toThrow(parse.allowed);
      expect(() => parse(String(most + 1))).toThrow(parse.allowed);
    }
  });

  test('of connections are divided among the processes, so there must be enough', () => {
    expect(readConfig({}).databaseConnections).toBe(14);
    expect(readConfig({ POSTHORN_PROCESSES: '4' }).databaseConnections).toBe(56);
    const given = { POSTHORN_PROCESSES: '4', POSTHORN_DATABASE_CONNECTIONS: '28' };
    expect(readConfig(given).databaseConnections).toBe(28);
    expect(refusal({ ...given, POSTHORN_DATABASE_CONNECTIONS: '27' })).toBe(
      'POSTHORN_PROCESSES=4 needs POSTHORN_DATABASE_CONNECTIONS of at least 28: 7 for each process',
    );
  });

  test('that are secret are not repeated in the refusal', () => {
    const secrets = {
      DATABASE_URL: 'mysql://me:pw@host',
      POSTHORN_HTTP_PROXY: 'pw',
      POSTHORN_SECRET_KEY: 'pw',
      OTEL_EXPORTER_OTLP_HEADERS: 'pw',
    };
    for (const [name, value] of Object.entries(secrets)) {
      expect(refusal({ [name]: value })).toMatch(new RegExp(`^bad value for ${name}: expected `));
      expect(refusal({ [name]: value })).not.toContain('pw');
    }
  });

  test('of databases take several hosts, and a target that fits their use', () => {
    const needed = { POSTHORN_SECRET_KEY: KEY };
    const hosts = 'postgres://me:pw@one:1,two/db';
    const both = {
      ...needed,
      DATABASE_URL: hosts,
      POSTHORN_READ_URL: `${hosts}?target_session_attrs=standby`,
    };
    expect(readConfig(both).databaseUrl?.reveal()).toBe(hosts);
    expect(readConfig(both).readUrl?.reveal()).toBe(both.POSTHORN_READ_URL);
    const refused = (name: string, value: string) => refusal({ ...both, [name]: value });
    expect(refused('DATABASE_URL', `${hosts}?target_session_attrs=standby`)).toBe(
      'bad value for DATABASE_URL: expected target_session_attrs to be one of any, read-write, primary',
    );
    expect(refused('DATABASE_URL', 'postgres://one/db?target_session_attrs=master')).toBe(
      'bad value for DATABASE_URL: expected target_session_attrs to be one of any, read-write, read-only, primary, standby, prefer-standby',
    );
    expect(refused('DATABASE_URL', 'postgres://me:pw@one,,two/db')).toBe(
      'bad value for DATABASE_URL: expected a name for each host',
    );
    expect(refused('POSTHORN_READ_URL', `${hosts}?target_session_attrs=read-write`)).toBe(
      'bad value for POSTHORN_READ_URL: expected target_session_attrs to be one of any, standby, prefer-standby, read-only',
    );
    expect(refused('DATABASE_URL', '')).toBe(
      'POSTHORN_READ_URL also needs DATABASE_URL, the database that it is a standby of',
    );
  });

  test('of headers are pairs with percent-encoded values', () => {
    const headers = (given: string) => readConfig({ OTEL_EXPORTER_OTLP_HEADERS: given }).otlpHeaders;
    expect(headers('a=1, X-Key = b%2Cc%20d==,empty=')).toEqual([
      ['a', '1'],
      ['X-Key', 'b,c d=='],
      ['empty', ''],
    ]);
    for (const bad of ['=1', 'a b=1', 'a=%zz', 'a=%0a', 'a=%C3%A9']) {
      expect(refusal({ OTEL_EXPORTER_OTLP_HEADERS: bad })).toContain('name=value pairs');
    }
  });

  test('that are unknown are refused, other variables are not', () => {
    expect(refusal({ POSTHORN_PROT: '1' })).toContain('POSTHORN_PROT');
    expect(() => readConfig({ PATH: '/bin', OTHER: 'x' })).not.toThrow();
  });

  test('of address lists take single addresses and ranges of both families', () => {
    const given = '10.0.0.0/8, ::1 ,fd00::/8,192.0.2.7';
    expect(readConfig({ POSTHORN_EGRESS_ALLOW: given }).egressAllow).toEqual([
      '10.0.0.0/8',
      '::1',
      'fd00::/8',
      '192.0.2.7',
    ]);
  });
});

test('deliveries may go anywhere only while the node is not reachable from outside, unless set otherwise', () => {
  const rule = (env: Record<string, string>) => egressRule(readConfig(env));
  expect(rule({})).toBe('any');
  expect(rule({ POSTHORN_HOST: '0.0.0.0' })).toBe('public');
  expect(rule({ DATABASE_URL: 'postgres://h/d', POSTHORN_SECRET_KEY: KEY })).toBe('public');
  expect(rule({ POSTHORN_HOST: '0.0.0.0', POSTHORN_EGRESS: 'any' })).toBe('any');
  expect(rule({ POSTHORN_EGRESS: 'public' })).toBe('public');
});
