import { Jobs } from './generated/resources.ts';
import type { Job } from './generated/types.ts';
import type { CallOptions } from './request.ts';
import { pause } from './wait.ts';

export interface JobWaitOptions extends CallOptions {
  /** Called with the job when it has moved on, and at its end. If it throws, the wait ends with its error. */
  onProgress?: (job: Job) => void;
}

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 1_000;

export class WaitedJobs extends Jobs {
  /**
   * Wait until a job has ended. The result is the job: `completed`, `cancelled` or `failed`. A signal ends the wait, not
   * the job.
   */
  async wait(job: string | Pick<Job, 'uid'>, { onProgress, ...options }: JobWaitOptions = {}): Promise<Job> {
    const id = typeof job === 'string' ? job : job.uid;
    let shown = '';
    for (let ms = FIRST_PAUSE; ; ms = Math.min(ms * 1.5, LONGEST_PAUSE)) {
      const read = await this.get(id, options);
      const { status, done, failed, total } = read;
      const progress = JSON.stringify([status, done, failed, total]);
      if (progress !== shown) onProgress?.(read);
      shown = progress;
      if (status !== 'queued' && status !== 'running') return read;
      await pause(ms, options.signal);
    }
  }
}
