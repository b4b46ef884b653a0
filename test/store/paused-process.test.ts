import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';

/** Longer than an answer to a heartbeat, and the wait for its connection, may take. */
const PAUSE_MS = 4_000;

test('answers of the database that came while the process stood still count', async ({ onTestFinished }) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const script = new URL('./paused-asker.ts', import.meta.url).pathname;
  const asker = new Program({ command: [process.execPath, script, database.url] });
  onTestFinished(() => asker.kill());
  await eventually(
    async () => asker.stdout,
    (text) => text.includes('asked'),
  );
  asker.signal('SIGSTOP');
  await delay(PAUSE_MS);
  asker.signal('SIGCONT');
  await asker.ended;
  expect(asker.stderr).toBe('');
  expect(JSON.parse(asker.stdout.split('\n')[1] ?? '')).toEqual(['answered', 'answered']);
});
