import type { Metrics } from '../../metrics/metrics.ts';
import { Batcher } from '../../platform/batcher.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { isConnectionError, isDataError, isTimeout } from '../../store/database/pg-errors.ts';
import type { Finish } from '../../store/queue/finish-deliveries.ts';

/**
 * Records outcomes, many per commit, shared evenly by the projects. An outcome is never dropped. While the database is away it is kept and
 * sent again until it is stored (the dispatcher's window bounds their number). A batch that the database
 * refuses is halved until the bad one is alone. That one is stored without its response and its description.
 * Only a stopping node gives up, at the end of its grace.
 */
export interface FinisherDeps {
  /** Stores a batch; returns the ids of the deliveries that this node still held. */
  store(batch: Finish[]): Promise<Set<string>>;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}

const MAX_BATCH = 500;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const BATCHES_IN_FLIGHT = 2;
const PACE_MS = 5;
const RETRY_MS = 250;
const COULD_NOT_BE_STORED = 'The result of this attempt could not be stored.';

/** The parts removed so far from an outcome that the database refused. */
type Shed = 'nothing' | 'response' | 'attempt';

export class Finisher {
  readonly #deps: FinisherDeps;
  readonly #batcher: Batcher<Finish, boolean>;
  #hasGivenUp = false;

  constructor(deps: FinisherDeps) {
    this.#deps = deps;
    this.#batcher = new Batcher({
      run: (batch) => this.#run(batch),
      weigh: ({ attempt, metaEvent, body }) => {
        const bytes =
          (attempt?.responseBody?.length ?? 0) + (metaEvent?.payload.length ?? 0) + (body?.length ?? 0);
        return 1 + (bytes * MAX_BATCH) / MAX_BATCH_BYTES;
      },
      sharer: ({ delivery }) => delivery.projectId,
      maxWeight: MAX_BATCH,
      maxInFlight: BATCHES_IN_FLIGHT,
      paceMs: PACE_MS,
      clock: deps.clock,
    });
  }

  /** Resolves once stored: true, or false if another node had claimed the delivery. */
  finish(finish: Finish): Promise<boolean> {
    return this.#batcher.add(finish);
  }

  /** From now on this node records no outcome. */
  giveUp(): void {
    this.#hasGivenUp = true;
  }

  async #run(batch: Finish[], without: Shed = 'nothing'): Promise<boolean[]> {
    for (;;) {
      try {
        const moved = await this.#deps.store(batch);
        this.#deps.metrics.batchSize.finish.observe(batch.length);
        return batch.map((finish) => moved.has(finish.delivery.id));
      } catch (error) {
        if (isDataError(error)) return this.#split(batch, without, error);
        this.#deps.log.warn({ err: error, deliveries: batch.length }, 'failed to record outcomes; retrying');
        if (this.#hasGivenUp) throw error;
        const isRefused = !isConnectionError(error);
        if (batch.length > 1 ? isRefused || isTimeout(error) : isRefused && batch[0]?.metaEvent !== null)
          return this.#split(batch, without, error);
        await this.#deps.clock.sleep(RETRY_MS);
      }
    }
  }

  async #split(batch: Finish[], without: Shed, error: unknown): Promise<boolean[]> {
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      return [...(await this.#run(batch.slice(0, half))), ...(await this.#run(batch.slice(half)))];
    }
    const [finish] = batch as [Finish];
    if (finish.metaEvent !== null) {
      this.#deps.log.error(
        { err: error, delivery: finish.delivery.id },
        'failed to store a meta event; its delivery is recorded without it',
      );
      return this.#run([{ ...finish, metaEvent: null }], without);
    }
    this.#deps.log.error(
      { err: error, delivery: finish.delivery.id },
      'failed to store an attempt; stored without its response',
    );
    if (without === 'attempt') throw error;
    const { attempt } = finish;
    const description = COULD_NOT_BE_STORED;
    if (attempt === null || without === 'response')
      return this.#run([{ ...finish, description, attempt: null }], 'attempt');
    const bare = { ...attempt, responseHeaders: null, responseBody: null, error: COULD_NOT_BE_STORED };
    return this.#run([{ ...finish, description, attempt: bare }], 'response');
  }
}
