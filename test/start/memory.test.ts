import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';

/**
 * Memory that a storm of large payloads and answers needed goes back to the system. The share that stays is judged: of
 * what the storm added at its peak, less than half. Without the settings of malloc in bin/posthorn two thirds stay.
 */
const EVENTS = 120;
const AT_ONCE = 40;
const PAYLOAD = 'x'.repeat(900_000);
const MOST_LEFT = 0.5;
const POSTHORN = join(import.meta.dirname, '../../bin/posthorn');

function memoryOf(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
}

test.runIf(process.platform === 'linux')(
  'memory after a storm of large payloads and answers falls back',
  async ({ onTestFinished }) => {
    const database = await createTestDatabase();
    onTestFinished(() => database.stop());
    const dataDir = mkdtempSync(join(tmpdir(), 'posthorn-memory-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true }));
    const receiver = await Receiver.start();
    onTestFinished(() => receiver.stop());
    receiver.answerAlways((_request, response) => response.end(PAYLOAD));
    const program = new Program({
      command: [POSTHORN],
      args: ['serve'],
      env: {
        DATABASE_URL: database.url,
        POSTHORN_SECRET_KEY: randomBytes(32).toString('base64'),
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_PORT: '0',
        POSTHORN_EGRESS: 'any',
      },
    });
    onTestFinished(() => program.end());
    const client = clientOf(await program.ready(), readCredentials(dataDir));
    await subscribe(client, receiver.url);
    await client.post('/events/broadcast', { event_type: 'a', data: {} });
    await receiver.received(1);
    const before = memoryOf(program.pid, 'VmRSS');
    let left = EVENTS;
    // Over its room the node refuses with 429, which is a part of the storm.
    const sender = async () => {
      while (left > 0) {
        const { status } = await client.raw('POST', '/events/broadcast', {
          body: { event_type: 'a', data: PAYLOAD },
        });
        if (status === 201) left -= 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    await receiver.received(1 + EVENTS);
    const added = memoryOf(program.pid, 'VmHWM') - before;
    // Node collects garbage of an idle process after some seconds.
    const share = await eventually(
      async () => (memoryOf(program.pid, 'VmRSS') - before) / added,
      (now) => now < MOST_LEFT,
    );
    expect(share).toBeLessThan(MOST_LEFT);
  },
);
