import { Loop } from '../../platform/loop.ts';
import { SILENT_SECONDS } from '../../store/database/node-lease.ts';
import type { SilentNode } from '../../store/queue/nodes.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { Claimer } from './claimer.ts';

/**
 * Frees the rows of silent nodes, which each heartbeat of this node names. It works apart from the heartbeats, which must
 * not wait.
 * walking -> a node is silent: all pages of the queue are read in ranges, each freed in a commit of its own. A silent
 *            node is remembered for a minute and the walk is repeated, because a batch that it sent just before may
 *            commit after the first one. A walk for the same nodes begins after a rest of REST times its length: in a
 *            short queue after 2 s, with ten million waiting rows about twice a minute.
 * looking -> no node is silent: once a minute a bounded number of pages is searched for rows of nodes that are not
 *            remembered at all, which only a fault leaves behind. A long queue is searched over many minutes.
 *
 * One node walks or looks at a time; the others skip.
 */
/** The nodes and their rows in the database. */
export interface ReapedTable {
  /** As of the last heartbeat. */
  silent(): readonly SilentNode[];
  /** Null: another node reaps. */
  asReaper<T>(work: () => Promise<T>): Promise<T | null>;
  freeInPages(page: number): Promise<{ freed: number; nextPage: number }>;
  forget(nodeIds: readonly string[]): Promise<void>;
  freeStrayLeases(): Promise<void>;
}

export interface ReaperDeps extends EnginePart<'clock' | 'metrics' | 'log'> {
  table: ReapedTable;
  /** How long this node has been connected without a break. */
  connectedMs(): number;
  claimer: Pick<Claimer, 'sweep'>;
}

const REST = 4;
const LOOK_FOR_STRAYS_MS = 60_000;
/** Half a million waiting rows, about 0.3 s of one connection. */
const RANGES_PER_LOOK = 8;

export class Reaper {
  readonly #deps: ReaperDeps;
  readonly #loop: Loop;
  #walkedFor = new Set<string>();
  #restUntil = Number.NEGATIVE_INFINITY;
  #lastLook = Number.NEGATIVE_INFINITY;
  #strayPage = 0;

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#turn(),
      onError: (error) => deps.log.warn({ err: error }, 'failed to free the deliveries of silent nodes'),
      clock: deps.clock,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** A heartbeat was confirmed. */
  wake(): void {
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** After an outage of the database, or a sleep of the machine, all nodes are only just returning. */
  get #mayReap(): boolean {
    return !this.#loop.isStopped && this.#deps.connectedMs() >= SILENT_SECONDS * 1000;
  }

  async #turn(): Promise<void> {
    if (!this.#mayReap) return;
    const { table, clock } = this.#deps;
    const silent = table.silent();
    const now = clock.elapsed();
    if (silent.some(({ id }) => !this.#walkedFor.has(id)) || (silent.length > 0 && now >= this.#restUntil))
      await table.asReaper(() => this.#walk(silent));
    else if (now - this.#lastLook > LOOK_FOR_STRAYS_MS) await table.asReaper(() => this.#look());
  }

  async #walk(silent: readonly SilentNode[]): Promise<void> {
    const { table, clock } = this.#deps;
    const startedAt = clock.elapsed();
    if ((await this.#free(0, Number.POSITIVE_INFINITY)) !== 0) return;
    this.#walkedFor = new Set(silent.map(({ id }) => id));
    this.#lastLook = clock.elapsed();
    this.#restUntil = clock.elapsed() + REST * (clock.elapsed() - startedAt);
    const forgettable = silent.filter(({ isForgettable }) => isForgettable);
    if (forgettable.length > 0) await table.forget(forgettable.map(({ id }) => id));
  }

  async #look(): Promise<void> {
    this.#lastLook = this.#deps.clock.elapsed();
    this.#strayPage = await this.#free(this.#strayPage, RANGES_PER_LOOK);
    await this.#deps.table.freeStrayLeases();
  }

  /** Frees rows on so many ranges of pages, or fewer if this node may not go on. Returns the next page, 0 after the last. */
  async #free(fromPage: number, ranges: number): Promise<number> {
    const { table, metrics, log, claimer } = this.#deps;
    let page = fromPage;
    let freed = 0;
    try {
      for (let n = 0; n < ranges; n += 1) {
        const range = await table.freeInPages(page);
        freed += range.freed;
        page = range.nextPage;
        if (page === 0 || !this.#mayReap) break;
      }
      return page;
    } finally {
      if (freed > 0) {
        metrics.reaped.inc(freed);
        log.warn({ deliveries: freed }, 'freed the deliveries of a silent node');
        await claimer.sweep();
      }
    }
  }
}
