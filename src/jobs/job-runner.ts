import { isProjectAway } from '../domain/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import type { Database } from '../store/database/database.ts';
import { isTransient } from '../store/database/pg-errors.ts';
import {
  failJob,
  type JobRow,
  type JobType,
  type JobWork,
  releaseJob,
  workOnJob,
} from '../store/jobs/jobs.ts';

/**
 * Runs jobs chunk by chunk. Any number of nodes do so at once. Each takes the open job that has waited
 * longest and that no other node has, runs one chunk of it, and looks again. A long job therefore does not
 * delay a short one.
 * idle    -> `wake` comes at once for new jobs, and within a second for jobs of other nodes and waiting ones;
 * working -> chunk after chunk until no job is open.
 *
 * A job whose chunk fails ends as failed, unless it was the database that failed: then it is tried again.
 */
const WOKEN_EVERY_MS = 1_000;

export class JobRunner {
  readonly #deps: { db: Database; works: Readonly<Record<JobType, JobWork>>; log: Logger };
  readonly #loop: Loop;

  constructor(deps: { db: Database; works: Readonly<Record<JobType, JobWork>>; log: Logger }) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#work(),
      onError: (error) => deps.log.debug({ err: error }, 'failed to look for jobs; retrying in 1 s'),
    });
  }

  start(): void {
    this.#loop.start();
    this.wake();
  }

  /** Waits for the running chunk. Another node continues the job. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Checks for a job at once. */
  wake(): void {
    this.#loop.wake();
  }

  async #work(): Promise<void> {
    let more = true;
    while (more && !this.#loop.isStopped) {
      more = await workOnJob(this.#deps.db, this.#deps.works, {
        error: (job, error) => this.#failed(job, error),
        delay: (ms) => this.#wakeIn(ms),
      });
    }
  }

  /** Sooner than the next wake, for a job with a rate. */
  #wakeIn(ms: number): void {
    if (ms < WOKEN_EVERY_MS) setTimeout(() => this.wake(), ms).unref();
  }

  #failed(job: JobRow, error: unknown): void {
    // That of a project that began to move meanwhile goes on where the project arrives.
    const isAway = isProjectAway(error);
    if (isAway || isTransient(error)) {
      if (!isAway) this.#deps.log.warn({ err: error, job: job.id }, 'rolled back a chunk of a job; retrying');
      releaseJob(this.#deps.db, job.id).catch((failure: unknown) =>
        this.#deps.log.warn({ err: failure, job: job.id }, 'failed to release the job; it continues in 10 s'),
      );
      return;
    }
    this.#deps.log.error({ err: error, job: job.id, type: job.type }, 'job failed');
    failJob(this.#deps.db, job.id, 'An internal error occurred. Search the log for the job id.').then(
      () => this.wake(),
      (failure: unknown) =>
        this.#deps.log.warn({ err: failure, job: job.id }, 'failed to mark the job as failed'),
    );
  }
}
