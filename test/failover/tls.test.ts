import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import { freePort } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';

/** A server with a certificate of the tests' authority, after a host that is down. */
const CA_FILE = join(import.meta.dirname, '../support/certificates/ca.pem');
const facts = await brokerFacts<{ port: number }>('postgres');

async function openSecure(authority: string): Promise<Database> {
  const { port } = facts as { port: number };
  const ports = `${await freePort()},${port}`;
  const tls = `sslmode=verify-full${authority}`;
  const url = `postgres://admin@/postgres?host=127.0.0.1,localhost&port=${ports}&target_session_attrs=read-write&${tls}`;
  const db = new Database({ connection: { connectionString: url }, connections: 6, log: quietLog });
  onTestFinished(() => db.close());
  return db;
}

const of = test.skipIf(typeof facts === 'string');
const trusted = `&sslrootcert=${encodeURIComponent(CA_FILE)}`;

of('the primary is found among several hosts over TLS', async () => {
  const db = await openSecure(trusted);
  expect(await db.problem()).toBe(null);
  const asked = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
  expect(await db.query(asked)).toEqual([{ ssl: true }]);
  expect(await db.hot('ssl', asked, [])).toEqual([{ ssl: true }]);
});

of('a host whose certificate is not trusted is not used', async () => {
  const untrusted = await openSecure('');
  expect(await untrusted.problem()).toMatch(/localhost:\d+: .*certificate/);
  await expect(untrusted.query('select 1')).rejects.toThrow('no server of the database takes writes');
});
