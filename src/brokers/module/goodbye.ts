import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../platform/logger.ts';

const LIMIT_MS = 5_000;

/** Waits until a connection is closed. One to a broker that does not answer is given up. */
export async function goodbye(closing: Promise<unknown>, log: Logger): Promise<void> {
  const closed = closing.catch((error: unknown) =>
    log.debug({ err: error }, 'the connection to a broker could not be closed'),
  );
  await Promise.race([closed, sleep(LIMIT_MS, undefined, { ref: false })]);
}
