import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import type {
  PulledDelivery,
  PullRequest,
  PullResult,
  PullService,
  ResultState,
} from '../../domain/pull-service.ts';
import type { Sent } from '../attempt/sent.ts';
import { PullQueue, type PullQueueDeps } from './pull-queue.ts';
import { PullResults, type PullResultsDeps } from './pull-results.ts';

/** Pull endpoints on this node: deliveries are handed out here, and results are taken. */
export class Pull implements PullService {
  readonly #queue: PullQueue;
  readonly #results: PullResults;

  constructor(deps: Omit<PullQueueDeps, 'record'> & PullResultsDeps) {
    this.#results = new PullResults(deps);
    this.#queue = new PullQueue({ ...deps, record: (sent) => this.#results.record(sent) });
  }

  pull(request: PullRequest, signal: AbortSignal): Promise<PulledDelivery[]> {
    return this.#queue.pull(request, signal);
  }

  report(
    at: { projectId: ProjectId; endpointId: EndpointId },
    results: readonly PullResult[],
  ): Promise<ResultState[]> {
    return this.#results.report(at, results);
  }

  release(projectId: ProjectId, deliveries: readonly PulledDelivery[]): Promise<void> {
    return this.#queue.release(projectId, deliveries);
  }

  /** The result of a delivery whose lease ended. */
  leaseEnded(delivery: LeasedDelivery): Promise<Sent> {
    return this.#results.leaseEnded(delivery);
  }

  /** This node stored a row that waits under a key. */
  stored(key: string): void {
    this.#queue.stored(key);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }
}
