import type { Credentials } from '../start/first-start.ts';
import type { Connection } from '../store/database/database.ts';

/** What the primary and a process say to each other. `start` comes first; the answer is `started` or `failed`. */
export type ToWorker =
  | { type: 'start'; number: number; connection: Connection }
  /** Why the program as a whole is not ready; null: it is. */
  | { type: 'readiness'; problem: string | null }
  /** Asks for this process's own metrics. */
  | { type: 'render'; request: number }
  /** The metrics of all, which this process asked for. */
  | { type: 'page'; request: number; page: string }
  | { type: 'stop' };

export type FromWorker =
  | { type: 'started'; url: string; nodeId: string; credentials: Credentials | null }
  | { type: 'failed'; reason: string }
  | { type: 'rendered'; request: number; page: string }
  /** Asks for the metrics of all. */
  | { type: 'metrics'; request: number };
