import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { VERSION } from '../../src/platform/version.ts';
import { SECRET_KEY, startTestApp, type TestApp } from '../support/app.ts';
import { runPosthorn } from '../support/command.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { live } from './life.ts';
import { Reader } from './reader.ts';

/** The files of a release: the backup of a database that lived, and the answers of the API about it. */
export const filesOf = (version: string) => ({
  backup: join(import.meta.dirname, `${version}.backup.gz`),
  answers: join(import.meta.dirname, `${version}.answers.json.gz`),
});

/** Keeps the database of this version. The files of a version that has been released never change. */
export async function recordRelease(): Promise<void> {
  const { backup, answers } = filesOf(VERSION);
  expect([existsSync(backup), existsSync(answers)], `${VERSION} has been recorded`).toEqual([false, false]);
  const receiver = await Receiver.start();
  const app = await startTestApp();
  try {
    await live(app, receiver);
    await expectEveryKind(app);
    // Nothing moves any more once the node that delivers has stopped.
    const { url } = await app.addNode({ POSTHORN_ROLES: 'api' });
    await app.app.stop();
    const read = await new Reader(url, app.instance.key).readAll(aroundNow());
    const { code, stderr } = await runPosthorn(['backup', backup, '--with-keys'], {
      env: {
        DATABASE_URL: app.database.url,
        POSTHORN_SECRET_KEY: SECRET_KEY,
        POSTHORN_DATA_DIR: app.dataDir,
      },
    });
    expect([code, stderr]).toEqual([0, '']);
    writeFileSync(answers, gzipSync(JSON.stringify(read)));
  } finally {
    await app.stop();
    await receiver.stop();
  }
}

function aroundNow(): string {
  const [startDate, endDate] = [-2, 2].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
  return `startDate=${startDate}&endDate=${endDate}`;
}

/** A backup without one of these would prove less than it seems to. */
async function expectEveryKind({ database }: TestApp): Promise<void> {
  const kinds = await database.query(
    `select array(select distinct status from event_deliveries order by 1) as states,
       exists (select from attempt_templates) as templates,
       exists (select from event_deliveries where attempt_template_id is not null) as packed_in_deliveries,
       exists (select from delivery_attempts where template_id is not null) as packed,
       exists (select from delivery_attempts where template_id is null) as whole,
       exists (select from event_deliveries where body is not null) as changed_bodies,
       exists (select from alerts) as alerts, exists (select from idempotency_keys) as config_keys,
       exists (select from event_keys) as event_keys, exists (select from traffic) as added_counts,
       exists (select from recent_counts) as recent_counts, exists (select from jobs) as jobs,
       exists (select from delivery_queue where pulled_at is not null) as leases`,
  );
  const all = Object.fromEntries(Object.keys(kinds[0] ?? {}).map((name) => [name, true]));
  const states = ['Discarded', 'Failure', 'Retry', 'Scheduled', 'Success'];
  expect(kinds).toEqual([{ ...all, states }]);
}
