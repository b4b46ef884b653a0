import type { Logger } from '../platform/logger.ts';
import type { Config } from '../settings/settings.ts';
import type { Credentials } from './first-start.ts';

/** The program once it serves: one node, or the primary of several. */
export interface Running {
  url: string;
  /** Created by this start, if it was the first. */
  credentials: Credentials | null;
  /** Ids of its nodes. */
  nodes: string[];
  /** Safe to call twice. */
  stop(): Promise<void>;
}

/** This long after the grace something is stuck (a database that does not respond). The process ends anyway. */
export const OVERTIME_MS = 1_000;

/** Stops and ends the process, cleanly or, if that takes too long, with exit code 1. */
export async function stopInTime(
  running: Pick<Running, 'stop'>,
  config: Config,
  log: Logger,
): Promise<never> {
  setTimeout(
    () => {
      log.error('not stopped within the grace; other nodes claim its deliveries in 10 s');
      process.exit(1);
    },
    config.graceSeconds * 1000 + OVERTIME_MS,
  ).unref();
  await running.stop();
  log.info('stopped');
  process.exit();
}

/**
 * A promise that failed and that no code awaits is a fault of ours, and work may have stopped with it unseen. Node would
 * end the process at once. Instead the caller logs it and stops cleanly, with code 1: requests under way are recorded,
 * rows return to the queue, and the next process starts with all of its work.
 */
export function onStrayRejection(fault: (error: unknown) => void): void {
  process.on('unhandledRejection', (error) => {
    process.exitCode = 1;
    fault(error);
  });
}

export const STRAY_REJECTION = 'stopping because of a fault: no code handled this error';
