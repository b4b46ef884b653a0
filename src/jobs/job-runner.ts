import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import { failJob, type JobRow, type JobType, type JobWork, workOnJob } from '../store/config/jobs.ts';
import type { Database } from '../store/database/database.ts';
import { isTransient } from '../store/database/pg-errors.ts';

/**
 * Works off jobs, chunk by chunk. Any number of nodes do so at once: each takes the open job that has waited longest
 * and that no other node holds, does one chunk of it, and looks again, so a long job does not hold up a short one.
 *
 * A turn works chunk after chunk until none is left to take. A turn begins each second, for jobs of other nodes and ones
 * that wait, and with a `wake`, for new ones.
 *
 * A job whose chunk fails ends as failed, unless it was the database that failed: then it is tried again.
 */
const POLL_MS = 1_000;

export class JobRunner {
  readonly #deps: { db: Database; works: Readonly<Record<JobType, JobWork>>; log: Logger };
  readonly #loop: Loop;

  constructor(deps: { db: Database; works: Readonly<Record<JobType, JobWork>>; log: Logger }) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#work(),
      onError: (error) =>
        deps.log.debug({ err: error }, 'jobs could not be looked for; trying again in a second'),
      everyMs: POLL_MS,
    });
  }

  start(): void {
    this.#loop.start();
    this.wake();
  }

  /** Waits for the chunk under way; the rest of its job is for whoever takes it next. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** There may be a job to do. */
  wake(): void {
    this.#loop.wake();
  }

  async #work(): Promise<void> {
    let more = true;
    while (more && !this.#loop.isStopped) {
      more = await workOnJob(this.#deps.db, this.#deps.works, (job, error) => this.#failed(job, error));
    }
  }

  #failed(job: JobRow, error: unknown): void {
    if (isTransient(error)) {
      this.#deps.log.warn({ err: error, job: job.id }, 'a chunk of a job was undone; it is tried again');
      return;
    }
    this.#deps.log.error({ err: error, job: job.id, type: job.type }, 'job failed');
    failJob(this.#deps.db, job.id, 'Something went wrong on our side; the job id finds it in the log.').then(
      () => this.wake(),
      (failure: unknown) => this.#deps.log.warn({ err: failure, job: job.id }, 'job not marked as failed'),
    );
  }
}
