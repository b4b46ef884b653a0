import type { ProjectId } from '../../domain/ids.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import { eachProject, type ProjectWork } from '../../store/config/each-project.ts';

/** A duty of upkeep. Its failures, all in all or for one project, are logged and counted, and stop no other duty. */
export interface DutyDeps {
  metrics: Pick<Metrics, 'upkeepFailures'>;
  log: Logger;
}

export type DutyName = keyof Metrics['upkeepFailures'];

export class Duty {
  readonly #deps: DutyDeps;
  readonly #about: { duty: DutyName; retryInMs: number };

  constructor(deps: DutyDeps, about: { duty: DutyName; retryInMs: number }) {
    this.#deps = deps;
    this.#about = about;
  }

  /** As a whole. */
  failed(error: unknown): void {
    this.#note({ err: error });
  }

  /** For one project. */
  readonly failedFor = (project: ProjectId, error: unknown): void => this.#note({ err: error, project });

  /** Undefined: it failed. */
  async run<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }

  eachProject<Row extends { projectId: ProjectId }>(work: Omit<ProjectWork<Row>, 'failed'>): Promise<void> {
    return eachProject({ ...work, failed: this.failedFor });
  }

  /** A loop of its own. Without `everyMs` it works when it is woken. */
  loop<Row extends { projectId: ProjectId }>(
    work: Omit<ProjectWork<Row>, 'failed' | 'signal'>,
    everyMs?: number,
  ): Loop {
    return new Loop({
      turn: (signal) => this.eachProject({ ...work, signal }),
      onError: (error) => this.failed(error),
      ...(everyMs !== undefined && { everyMs }),
    });
  }

  #note(of: { err: unknown; project?: ProjectId }): void {
    this.#deps.metrics.upkeepFailures[this.#about.duty].inc();
    this.#deps.log.warn({ ...this.#about, ...of }, 'upkeep failed; retrying later');
  }
}
