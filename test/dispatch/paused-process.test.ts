import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Program } from '../support/program.ts';
import { startDnsServer } from '../support/servers/dns-server.ts';

/** Longer than a query may take. */
const PAUSE_MS = 2_500;

test('a name server is not blamed for the time the process was stalled', async ({ onTestFinished }) => {
  const paused = Promise.withResolvers<void>();
  let asked = 0;
  const server = await startDnsServer((name) => {
    if (name !== 'paused.example') return 'not_found';
    asked += 1;
    // The first A and AAAA are lost. At the second the process that asks is stopped, and this answer has to wait.
    if (asked <= 2) return 'silence';
    if (asked === 3) {
      resolving.signal('SIGSTOP');
      paused.resolve();
    }
    return { addresses: ['127.0.0.1'] };
  });
  onTestFinished(() => server.close());
  const script = join(import.meta.dirname, 'paused-resolver.ts');
  const resolving = new Program({ command: [process.execPath, script, server.address] });
  onTestFinished(() => resolving.kill());
  await paused.promise;
  await delay(PAUSE_MS);
  resolving.signal('SIGCONT');
  await resolving.ended;
  expect(JSON.parse(resolving.stdout)).toEqual({ kind: 'addresses', addresses: ['127.0.0.1'] });
});
