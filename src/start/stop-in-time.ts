import type { Logger } from '../platform/logger.ts';
import type { Config } from '../settings/settings.ts';

/** Past the grace by this much, something does not let go (a database that answers nothing): the process ends anyway. */
export const OVERTIME_MS = 1_000;

/** Stops and ends the process, cleanly or, where that takes too long, with 1. */
export async function stopInTime(
  running: { stop(): Promise<void> },
  config: Config,
  log: Logger,
): Promise<never> {
  setTimeout(
    () => {
      log.error('not stopped within the grace; others take over in ten seconds what this node still held');
      process.exit(1);
    },
    config.graceSeconds * 1000 + OVERTIME_MS,
  ).unref();
  await running.stop();
  log.info('stopped');
  process.exit();
}
