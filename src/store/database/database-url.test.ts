import { expect, test } from 'vitest';
import { parseDatabaseUrl } from './database-url.ts';

test('a URL is read in full', () => {
  expect(
    parseDatabaseUrl('postgres://u%40x:p%2F%3A%20%2B@db.example.com:6432/my%20db?sslmode=require'),
  ).toEqual({
    host: 'db.example.com',
    port: 6432,
    user: 'u@x',
    password: 'p/: +',
    database: 'my db',
    isSecure: true,
  });
  expect(parseDatabaseUrl('postgresql://u@[::1]/d')).toMatchObject({ host: '::1', port: 5432, password: '' });
  expect(parseDatabaseUrl('postgres://u@h/d')).toMatchObject({ isSecure: false });
});

test.each([
  ['mysql://u@h/d', 'must be a URL'],
  ['h/d', 'must be a URL'],
  ['postgres:///d', 'must name a host'],
  ['postgres://u:p@%2Fvar%2Frun%2Fpostgresql/d', 'must name one host'],
  ['postgres://u@h/d?host=/var/run/postgresql', 'the parameter host'],
  ['postgres://u@h/d?sslrootcert=/etc/passwd', 'the parameter sslrootcert'],
  ['postgres://u@h/d?sslmode=prefer', 'sslmode that is none of'],
  ['postgres://u@a,b/d', 'must name one host'],
  ['postgres://h/d', 'must name a user'],
  ['postgres://u@h', 'must name a database'],
  ['postgres://u@h/', 'must name a database'],
  ['postgres://u%00replication%00true@h/d', 'not percent-encoded'],
  ['postgres://u:%zz@h/d', 'not percent-encoded'],
])('%s is refused: it %s', (url, problem) => {
  expect(parseDatabaseUrl(url)).toContain(problem);
});
