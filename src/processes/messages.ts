import type { Credentials } from '../start/first-start.ts';
import type { Connection } from '../store/database/database.ts';

/** The messages between the primary and a process. `start` comes first. The reply is `started` or `failed`. */
export type ToWorker =
  | { type: 'start'; number: number; connection: Connection }
  /** Why the program as a whole is not ready. Null: it is ready. */
  | { type: 'readiness'; problem: string | null }
  /** Requests this process's own metrics. */
  | { type: 'render'; request: number }
  /** The metrics of all processes, which this process requested. Null: they could not be collected. */
  | { type: 'page'; request: number; page: string | null }
  | { type: 'stop' };

export type FromWorker =
  | { type: 'started'; url: string; nodeId: string; credentials: Credentials | null }
  | { type: 'failed'; reason: string }
  /** Empty: they could not be collected. */
  | { type: 'rendered'; request: number; page: string }
  /** Requests the metrics of all processes. */
  | { type: 'metrics'; request: number };
