import { describe, expect, it } from 'vitest';
import { driverUrl, readPostgresUrl } from './postgres-url.ts';

const urls = (text: string) => {
  const read = readPostgresUrl(text);
  return typeof read === 'string' ? read : read.servers.map(({ url }) => url);
};
const names = (text: string) => {
  const read = readPostgresUrl(text);
  return typeof read === 'string' ? read : read.servers.map(({ name }) => name);
};

describe('a PostgreSQL URL', () => {
  it('is divided into one for each server, with the same login, database and parameters', () => {
    const text =
      'postgres://me:p%40w@one:5432,two,[::1]:5434/db?sslmode=verify-full&target_session_attrs=read-write';
    expect(readPostgresUrl(text)).toEqual({
      target: 'read-write',
      servers: [
        { name: 'one:5432', url: 'postgres://me:p%40w@one:5432/db?sslmode=verify-full' },
        { name: 'two:5432', url: 'postgres://me:p%40w@two/db?sslmode=verify-full' },
        { name: '[::1]:5434', url: 'postgres://me:p%40w@[::1]:5434/db?sslmode=verify-full' },
      ],
    });
    expect(names('postgresql://one,[::1],two')).toEqual(['one:5432', '[::1]:5432', 'two:5432']);
  });

  it('takes hosts and ports as parameters, also sockets', () => {
    expect(urls('postgres://me@/db?host=one,two&port=1,2&application_name=a')).toEqual([
      'postgres://me@one:1/db?application_name=a',
      'postgres://me@two:2/db?application_name=a',
    ]);
    expect(urls('postgres://me@localhost:5432/db?host=%2Fa%20b,%2Fc')).toEqual([
      'postgres://me@localhost:5432/db?host=%2Fa+b',
      'postgres://me@localhost:5432/db?host=%2Fc',
    ]);
    expect(names('postgres://me@localhost:5432/db?host=/a,/c')).toEqual(['/a:5432', '/c:5432']);
    expect(names('postgres:///db')).toEqual(['localhost:5432']);
  });

  it.each([
    ['mysql://h/d', 'a URL starting with postgres://'],
    ['postgres://one,,two/d', 'a name for each host'],
    ['postgres://one,two/d?port=1,2,3', 'one port, or as many ports as hosts'],
    ['postgres://one:99999,two/d', 'hosts and ports that can be read'],
    ['postgres://one,t wo/d', 'hosts and ports that can be read'],
    ['postgres://one,two/d?target_session_attrs=master', 'target_session_attrs to be one of any, read-write'],
  ])('%s is refused with what is expected', (text, expected) => {
    expect(readPostgresUrl(text)).toContain(expected);
  });
});

describe('the URL for the driver', () => {
  const url = 'postgres://me:p%40w@one,two:5433/db';

  it.each(['prefer', 'require', 'verify-ca'])('checks the certificate for sslmode=%s', (mode) => {
    expect(driverUrl(`${url}?sslmode=${mode}`, '')).toBe(`${url}?sslmode=verify-full`);
  });

  it.each([
    '',
    '?application_name=a%20b',
    '?sslmode=disable',
    '?sslmode=no-verify',
    '?sslmode=require&uselibpqcompat=true',
  ])('stays as it is otherwise: %j', (query) => {
    expect(driverUrl(url + query, '')).toBe(url + query);
  });

  it('names the file of authorities, unless it names another or wants no TLS', () => {
    expect(driverUrl(url, '/a b/ca.pem')).toBe(`${url}?sslrootcert=%2Fa+b%2Fca.pem`);
    expect(driverUrl(`${url}?sslmode=require`, 'ca.pem')).toBe(
      `${url}?sslmode=verify-full&sslrootcert=ca.pem`,
    );
    for (const own of ['?sslrootcert=own.pem', '?sslmode=disable'])
      expect(driverUrl(url + own, 'ca.pem')).toBe(url + own);
  });
});
