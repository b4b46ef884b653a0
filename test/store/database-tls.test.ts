import { expect, inject, onTestFinished, test } from 'vitest';
import { driverUrl } from '../../src/platform/postgres-url.ts';
import { Database } from '../../src/store/database/database.ts';
import { faultOf } from '../../src/store/database/pg-errors.ts';
import { SECRET_KEY } from '../support/app.ts';
import { runPosthorn } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { CA_FILE, startDatabaseTls } from '../support/servers/database-tls.ts';
import { shared } from '../support/shared.ts';

const database = await shared(createTestDatabase());

async function urlOf(certificate: 'endpoint' | 'expired', query: string): Promise<string> {
  const server = await startDatabaseTls(certificate);
  onTestFinished(() => server.close());
  return `postgres://${inject('postgres').user}@localhost:${server.port}/${database.name}${query}`;
}

// proves Instance: POSTHORN_DATABASE_CA_FILE
test.each(['', '?sslmode=require', '?sslmode=verify-full&target_session_attrs=read-write'])(
  'the database is trusted by the authorities of the setting (%j)',
  async (query) => {
    const env = { DATABASE_URL: await urlOf('endpoint', query), POSTHORN_SECRET_KEY: SECRET_KEY };
    const trusted = await runPosthorn(['doctor'], { env: { ...env, POSTHORN_DATABASE_CA_FILE: CA_FILE } });
    expect([trusted.stdout, trusted.stderr]).toEqual([expect.stringMatching(/database +PostgreSQL/), '']);
    if (query === '') return;
    const { stdout } = await runPosthorn(['doctor'], { env });
    expect(stdout).toMatch(
      /the database at DATABASE_URL cannot be used: .*unable to verify the first certificate/,
    );
  },
);

test.each(['', '&target_session_attrs=read-write'])(
  'a certificate that has expired is a refusal and no fault of ours (%j)',
  async (query) => {
    const url = driverUrl(await urlOf('expired', `?sslmode=verify-full${query}`), CA_FILE);
    const db = new Database({ connection: { connectionString: url }, connections: 4, log: quietLog });
    onTestFinished(() => db.close());
    const failed = await db.query('select 1').catch((error: unknown) => error);
    expect([faultOf(failed), String(failed)]).toEqual([
      'refused',
      expect.stringContaining('certificate has expired'),
    ]);
    expect(await db.trouble()).toMatchObject({ fault: 'refused' });
  },
);
