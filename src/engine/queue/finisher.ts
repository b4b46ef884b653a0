import { Batcher } from '../../platform/batcher.ts';
import { isConnectionError, isDataError, isTimeout } from '../../store/database/pg-errors.ts';
import { type AnyFinish, type Finish, isOfBatch, ofDeliveries } from '../../store/queue/finish.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/**
 * Records outcomes, many per commit, shared evenly by the projects. An outcome is never dropped. While the database is
 * away it is kept and sent again until it is stored (the dispatcher's window bounds their number). A batch that the
 * database refuses is halved until the bad one is alone. If its values are at fault, it is stored without its response
 * and its description. If the reason is unknown, it is tried again by itself, less and less often, and the others go on.
 * Only a stopping node gives up, at the end of its grace.
 */
export interface FinisherDeps extends EnginePart<'clock' | 'metrics' | 'log'> {
  /** Stores a batch; returns the ids of the deliveries that this node still leased. */
  store(batch: AnyFinish[]): Promise<Set<string>>;
}

const MAX_BATCH = 500;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const BATCHES_IN_FLIGHT = 2;
const PACE_MS = 5;
const RETRY_MS = 250;
const LONGEST_RETRY_MS = 30_000;
/** An outage fails several times a second. */
const LOG_EVERY_MS = 10_000;
const COULD_NOT_BE_STORED = 'The result of this attempt could not be stored.';

function weightOf(finish: AnyFinish): number {
  if (isOfBatch(finish)) return 1;
  const { attempt, metaEvent, body } = finish;
  const bytes = (attempt?.responseBody?.length ?? 0) + (metaEvent?.payload.length ?? 0) + (body?.length ?? 0);
  return 1 + (bytes * MAX_BATCH) / MAX_BATCH_BYTES;
}

const hasMetaEvent = (finish: AnyFinish): boolean =>
  ofDeliveries(finish).some(({ metaEvent }) => metaEvent !== null);

/** The finish with other fields. Of a batch each delivery gets them. */
function changed(
  finish: AnyFinish,
  fields: Partial<Pick<Finish, 'description' | 'attempt' | 'metaEvent'>>,
): AnyFinish {
  if (!isOfBatch(finish)) return { ...finish, ...fields };
  return { ...finish, members: finish.members.map((member) => ({ ...member, ...fields })) };
}

/** The parts removed so far from an outcome that the database refused. */
type Shed = 'nothing' | 'response' | 'attempt';

/** Whether this node still leased the delivery. A promise: it is not stored yet, and the others of its batch are. */
type Moved = boolean | Promise<boolean>;

export class Finisher {
  readonly #deps: FinisherDeps;
  readonly #singles: Batcher<AnyFinish, boolean>;
  /** Each of them is a commit of its own, with up to a thousand deliveries: single outcomes do not wait for them. */
  readonly #batches: Batcher<AnyFinish, boolean>;
  readonly #givenUp = Promise.withResolvers<void>();
  #hasGivenUp = false;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: FinisherDeps) {
    this.#deps = deps;
    this.#singles = this.#batcherOf(MAX_BATCH);
    // Each by itself: one that fails does not have another recorded again.
    this.#batches = this.#batcherOf(1);
  }

  #batcherOf(maxWeight: number): Batcher<AnyFinish, boolean> {
    return new Batcher({
      run: (batch) => this.#run(batch),
      weigh: weightOf,
      sharer: ({ delivery }) => delivery.projectId,
      maxWeight,
      maxInFlight: BATCHES_IN_FLIGHT,
      paceMs: PACE_MS,
      clock: this.#deps.clock,
    });
  }

  /** Resolves once stored: true, or false if another node had claimed the delivery. */
  finish(finish: AnyFinish): Promise<boolean> {
    return (isOfBatch(finish) ? this.#batches : this.#singles).add(finish);
  }

  /** From now on this node records no outcome. */
  giveUp(): void {
    this.#hasGivenUp = true;
    this.#givenUp.resolve();
  }

  async #run(batch: AnyFinish[], without: Shed = 'nothing'): Promise<Moved[]> {
    for (;;) {
      try {
        return await this.#store(batch);
      } catch (error) {
        if (isDataError(error)) return this.#split(batch, without, error);
        this.#failed(error, batch.length);
        if (this.#hasGivenUp) throw error;
        const isRefused = !isConnectionError(error);
        if (batch.length > 1 ? isRefused || isTimeout(error) : isRefused && batch.some(hasMetaEvent))
          return this.#split(batch, without, error);
        if (isRefused) return [this.#keepTrying(batch, without)];
        await this.#pause(RETRY_MS);
      }
    }
  }

  async #store(batch: AnyFinish[]): Promise<boolean[]> {
    const moved = await this.#deps.store(batch);
    this.#deps.metrics.batchSize.finish.observe(batch.length);
    return batch.map((finish) => moved.has(finish.delivery.id));
  }

  /** One outcome that is refused for an unknown reason: a fault of ours, or a right that the database user lacks. */
  async #keepTrying(one: AnyFinish[], without: Shed): Promise<boolean> {
    for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(LONGEST_RETRY_MS, 2 * pauseMs)) {
      await this.#pause(pauseMs);
      try {
        return (await this.#store(one))[0] as boolean;
      } catch (error) {
        if (isDataError(error)) return (await this.#split(one, without, error))[0] as Moved;
        this.#failed(error, one.length);
        if (this.#hasGivenUp) throw error;
      }
    }
  }

  /** Ends early when this node gives up. */
  async #pause(ms: number): Promise<void> {
    await Promise.race([this.#deps.clock.sleep(ms), this.#givenUp.promise]);
  }

  #failed(error: unknown, deliveries: number): void {
    const now = this.#deps.clock.elapsed();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.#deps.log.warn({ err: error, deliveries }, 'failed to record outcomes; retrying');
  }

  async #split(batch: AnyFinish[], without: Shed, error: unknown): Promise<Moved[]> {
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      return [...(await this.#run(batch.slice(0, half))), ...(await this.#run(batch.slice(half)))];
    }
    const [finish] = batch as [AnyFinish];
    if (hasMetaEvent(finish)) {
      this.#deps.log.error(
        { err: error, delivery: finish.delivery.id },
        'failed to store a meta event; its delivery is recorded without it',
      );
      return this.#run([changed(finish, { metaEvent: null })], without);
    }
    const bare = { description: COULD_NOT_BE_STORED, attempt: null };
    // One of the deliveries of a batch has something that cannot be stored: all are recorded without it.
    if (isOfBatch(finish) && without === 'nothing') return this.#run([changed(finish, bare)], 'attempt');
    this.#deps.log.error(
      { err: error, delivery: finish.delivery.id },
      'failed to store an attempt; stored without its response',
    );
    if (without === 'attempt' || isOfBatch(finish)) throw error;
    const { attempt } = finish;
    if (attempt === null || without === 'response') return this.#run([changed(finish, bare)], 'attempt');
    const cut = { ...attempt, responseHeaders: null, responseBody: null, error: COULD_NOT_BE_STORED };
    return this.#run([changed(finish, { ...bare, attempt: cut })], 'response');
  }
}
