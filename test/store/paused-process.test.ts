import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';

/** Longer than an answer to a heartbeat, and the wait for its connection, may take. */
const PAUSE_MS = 4_000;

test('database answers that arrived while the process was stalled count', async ({ onTestFinished }) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.stop());
  const script = join(import.meta.dirname, 'paused-asker.ts');
  const asker = new Program({ command: [process.execPath, script, database.url] });
  onTestFinished(() => asker.kill());
  await eventually(async () => asker.stdout, /asked/);
  asker.signal('SIGSTOP');
  await delay(PAUSE_MS);
  asker.signal('SIGCONT');
  await asker.ended;
  expect(asker.stderr).toBe('');
  expect(JSON.parse(asker.stdout.split('\n')[1] ?? '')).toEqual(['answered', 'answered']);
});

/** Longer than a new connection may take. */
const CONNECT_PAUSE_MS = 6_000;

test('the time limit of a new connection excludes the time the process was stalled', async ({
  onTestFinished,
}) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.stop());
  const relay = await startDatabaseRelay();
  onTestFinished(() => relay.close());
  relay.freeze();
  const script = join(import.meta.dirname, 'paused-connector.ts');
  const url = relay.urlOf(new URL(database.url).pathname.slice(1));
  const connector = new Program({ command: [process.execPath, script, url] });
  onTestFinished(() => connector.kill());
  await eventually(async () => connector.stdout, /asked/);
  connector.signal('SIGSTOP');
  relay.thaw();
  await delay(CONNECT_PAUSE_MS);
  connector.signal('SIGCONT');
  await connector.ended;
  expect(connector.stderr).toBe('');
  expect(JSON.parse(connector.stdout.split('\n')[1] ?? '')).toEqual(['connected', 'connected', 'connected']);
});
