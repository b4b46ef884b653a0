import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { setScene } from '../crash/scene.ts';
import { eventually } from '../support/eventually.ts';

/** A storm of large payloads must not decide how much memory a node has for the rest of its life. */
const STORM_MS = 8_000;
const AT_ONCE = 60;
const BODY = JSON.stringify({ event_type: 'large', data: { text: 'x'.repeat(900_000) } });
/** The share of the peak that may stay. Without a collection 0.9 and more stayed resident, with it 0.5 to 0.6. */
const STAYS = 0.75;

const residentKb = (pid: number) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));

test('memory that a storm of large payloads needed goes back to the system', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start();
  const client = await scene.client(program);
  const pid = program.pid;
  let peak = 0;
  const end = performance.now() + STORM_MS;
  const caller = async () => {
    while (performance.now() < end) {
      await (await client.raw('POST', '/events/broadcast', { body: BODY })).text();
      peak = Math.max(peak, residentKb(pid));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  expect(peak).toBeGreaterThan(0);
  await eventually(
    async () => ({ resident: residentKb(pid), peak }),
    ({ resident }) => resident < peak * STAYS,
  );
});
