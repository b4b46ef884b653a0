import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { EndpointStore } from '../store/config/endpoints.ts';
import type { ProjectStore } from '../store/config/projects.ts';
import type { Database } from '../store/database/database.ts';
import { liveNodes } from '../store/queue/nodes.ts';
import { sealInClear } from '../store/upkeep/reseal.ts';

/**
 * From the version that kept some secrets in clear to this one, without a stop of all nodes.
 *
 * waiting -> a node of the version before is at work; secrets are written where and how it reads them
 * sealing -> none is; new values are sealed as they come, those that stand in clear chunk by chunk
 * done    -> nothing was left in clear
 */
const PAUSE_MS = 5_000;
/** Three times what makes a node's deliveries fall to others: an older one that only pauses must not be shut out. */
const SILENT_SECONDS = 30;

interface SealUpgradeDeps {
  db: Database;
  sealer: Sealer;
  projects: ProjectStore;
  endpoints: EndpointStore;
  /** No other node can be alive. */
  isAlone: boolean;
  log: Logger;
}

export class SealUpgrade {
  readonly #deps: SealUpgradeDeps;
  readonly #abort = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(deps: SealUpgradeDeps) {
    this.#deps = deps;
  }

  /** Before anything is sealed. */
  async start(): Promise<void> {
    this.#deps.sealer.olderNodesRead = await this.#isWaiting();
    this.#working = this.#run();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#working;
  }

  async #isWaiting(): Promise<boolean> {
    if (this.#deps.isAlone) return false;
    return (await liveNodes(this.#deps.db, SILENT_SECONDS)).some((node) => node.sealKeys === null);
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      if (await this.#try()) return;
      await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #try(): Promise<boolean> {
    const { db, sealer, projects, endpoints, log } = this.#deps;
    try {
      if (await this.#isWaiting()) return false;
      sealer.olderNodesRead = false;
      const sealed = await sealInClear(db, { projects, endpoints, signal: this.#abort.signal });
      if (sealed > 0) log.info({ sealed }, 'sealed secrets that the version before had stored in clear');
      return true;
    } catch (error) {
      log.warn({ err: error }, 'secrets in clear could not be sealed; trying again in five seconds');
      return false;
    }
  }
}
