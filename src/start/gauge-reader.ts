import { setTimeout as sleep } from 'node:timers/promises';
import type { StatusBoard } from '../brokers/status-board.ts';
import { BATCH_LANE, LANE } from '../domain/delivery.ts';
import type { IdFactory } from '../domain/ids.ts';
import type { Engine } from '../engine/engine.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from '../platform/logger.ts';
import type { OffsetClock } from '../platform/time/offset-clock.ts';
import type { Database } from '../store/database/database.ts';
import { type QueueDepth, queueDepth } from '../store/queue/queue-depth.ts';

/**
 * Sets the gauges for each request of metrics. Values of this node are read at once. The queue is read from
 * the database:
 *   fresh   -> read less than FRESH_MS ago: the same values serve all requests;
 *   reading -> one read at a time; all requests wait for it, MAX_WAIT_MS at most;
 *   away    -> the read failed or took longer: the gauges are NaN, and one says that the database is away.
 */
export interface GaugeReaderDeps {
  db: Database;
  engine: Pick<Engine, 'usage'>;
  brokers: Pick<StatusBoard, 'usage'>;
  ids: Pick<IdFactory, 'aheadMs'>;
  databaseClock: Pick<OffsetClock, 'aheadMs'>;
  metrics: Metrics;
  log: Logger;
}

const FRESH_MS = 5_000;
const MAX_WAIT_MS = 2_000;
const BROKERS = ['kafka', 'sqs', 'amqp', 'google', 'postgres'] as const;
/** In which lane rows are counted, and in which they are due. A batch is due itself, and not its deliveries. */
const LANES: readonly (readonly [name: keyof typeof LANE | 'batch', counted: number, due: number])[] = [
  ...(Object.entries(LANE) as [keyof typeof LANE, number][]).map(
    ([name, lane]) => [name, lane, lane] as const,
  ),
  ['batch', BATCH_LANE.member, BATCH_LANE.formed],
];

export class GaugeReader {
  readonly #deps: GaugeReaderDeps;
  #last: { depth: QueueDepth; at: number } | undefined;
  #reading: Promise<void> | undefined;

  constructor(deps: GaugeReaderDeps) {
    this.#deps = deps;
  }

  async read(): Promise<void> {
    const { metrics, db, engine, ids, databaseClock } = this.#deps;
    const isFresh = await this.#refresh();
    this.#setQueue(isFresh ? this.#last?.depth : undefined);
    const { size, used, waiting, sending } = engine.usage();
    metrics.windowSize.set(size);
    metrics.windowUsed.set(used);
    metrics.deliveriesLeased.waiting.set(waiting);
    metrics.deliveriesLeased.sending.set(sending);
    metrics.idClockAhead.set((ids.aheadMs - databaseClock.aheadMs) / 1000);
    this.#setBrokers();
    metrics.databaseWritable.set(isFresh && (await db.writeFault()) === null ? 1 : 0);
    const isStandbyUp = db.isStandbyUp();
    metrics.standbyUp.set(isStandbyUp === null ? Number.NaN : Number(isStandbyUp));
    metrics.oldPrimaryAccepted.set(db.oldPrimaryAcceptedAtMs() / 1000);
    const pools = db.pools();
    for (const name of ['hot', 'general', 'lease'] as const) {
      metrics.databaseConnections[name].busy.set(pools[name].busy);
      metrics.databaseConnections[name].idle.set(pools[name].idle);
      metrics.databaseWaiting[name].set(pools[name].waiting);
    }
  }

  /** True if the last read is fresh. */
  async #refresh(): Promise<boolean> {
    if (this.#isFresh()) return true;
    this.#reading ??= this.#readQueue().finally(() => {
      this.#reading = undefined;
    });
    await Promise.race([this.#reading, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    return this.#isFresh();
  }

  #isFresh(): boolean {
    return this.#last !== undefined && performance.now() - this.#last.at < FRESH_MS;
  }

  async #readQueue(): Promise<void> {
    try {
      this.#last = { depth: await queueDepth(this.#deps.db), at: performance.now() };
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'failed to read the queue for metrics');
    }
  }

  #setBrokers(): void {
    const { metrics, brokers } = this.#deps;
    const { states, lag } = brokers.usage();
    for (const state of ['connecting', 'running', 'waiting'] as const)
      metrics.brokerSources[state].set(states[state]);
    for (const kind of BROKERS) metrics.brokerLag[kind].set(lag.get(kind) ?? 0);
  }

  #setQueue(depth: QueueDepth | undefined): void {
    const { metrics } = this.#deps;
    metrics.databaseUp.set(depth === undefined ? 0 : 1);
    metrics.breakersOpen.set(depth?.breakersOpen ?? Number.NaN);
    const order = depth?.order;
    metrics.orderingKeysWaiting.set(order?.keysWaiting ?? Number.NaN);
    metrics.orderingKeysHeld.set(order?.keysHeld ?? Number.NaN);
    metrics.orderingOldestHeld.set((order?.oldestHeldMs ?? Number.NaN) / 1000);
    const pulled = depth?.lanes.map(({ oldest_pull_ms: ms }) => ms / 1000) ?? [Number.NaN];
    metrics.queueOldestPull.set(Math.max(0, ...pulled));
    const none = depth === undefined ? Number.NaN : 0;
    const rowOf = (lane: number) => depth?.lanes.find((one) => one.lane === lane);
    for (const [name, counted, due] of LANES) {
      metrics.queueWaiting[name].set(rowOf(counted)?.waiting ?? none);
      metrics.queueOldestDue[name].set((rowOf(due)?.oldest_due_ms ?? none) / 1000);
    }
  }
}
