import { onTestFinished } from 'vitest';
import type { TestApp } from './app.ts';
import { atLeast, eventually } from './eventually.ts';

/**
 * Another session that has inserted an idempotency key and does not commit. An event with the key has its id, and its
 * commit waits until the release, or the end of the test.
 */
export async function holdKey(
  { database }: Pick<TestApp, 'database'>,
  projectId: string,
  key: string,
): Promise<{ waiting(): Promise<unknown>; release(): Promise<void> }> {
  const db = database.open();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: inserted, resolve: isInserted } = Promise.withResolvers<void>();
  const undone = new Error('rolled back');
  const session = db
    .transaction(async (tx) => {
      await tx.query("insert into event_keys (project_id, key, event_id) values ($1, $2, 'held')", [
        projectId,
        key,
      ]);
      isInserted();
      await released;
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  onTestFinished(() => release());
  await inserted;
  const blocked = () =>
    database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
  return {
    waiting: () => eventually(blocked, { length: atLeast(1) }),
    release: async () => {
      release();
      await session;
    },
  };
}
