import type { Logger } from '../platform/logger.ts';
import { failJob, type JobRow, type JobType, type JobWork, workOnJob } from '../store/config/jobs.ts';
import type { Database } from '../store/database/database.ts';
import { isTransient } from '../store/database/pg-errors.ts';

/**
 * Works off jobs, chunk by chunk. Any number of nodes do so at once: each takes the open job that has waited longest
 * and that no other node holds, does one chunk of it, and looks again, so a long job does not hold up a short one.
 *
 * idle    -> a timer looks every second for jobs of other nodes and ones that wait, `wake` at once for new ones;
 * working -> chunk after chunk until none is left to take.
 *
 * A job whose chunk fails ends as failed, unless it was the database that failed: then it is tried again.
 */
const POLL_MS = 1_000;

export class JobRunner {
  readonly #deps: { db: Database; works: Readonly<Record<JobType, JobWork>>; log: Logger };
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  constructor(deps: { db: Database; works: Readonly<Record<JobType, JobWork>>; log: Logger }) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.wake();
  }

  /** Waits for the chunk under way; the rest of its job is for whoever takes it next. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  /** There may be a job to do. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (this.#working !== undefined) return;
    clearTimeout(this.#timer);
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
      if (this.#stopped) return;
      if (this.#again) this.wake();
      else this.#timer = setTimeout(() => this.wake(), POLL_MS);
    });
  }

  async #work(): Promise<void> {
    this.#again = false;
    try {
      let more = true;
      while (more && !this.#stopped) {
        more = await workOnJob(this.#deps.db, this.#deps.works, (job, error) => this.#failed(job, error));
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'jobs could not be looked for; trying again in a second');
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
