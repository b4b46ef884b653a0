import cluster from 'node:cluster';
import { extname, join } from 'node:path';
import { mergeMetricsPages } from '../metrics/merge-metrics-pages.ts';
import { processMetricsPage } from '../metrics/process-metrics.ts';
import type { Logger } from '../platform/logger.ts';
import { StartupError } from '../platform/startup-error.ts';
import type { Config } from '../settings/settings.ts';
import { OVERTIME_MS, type Running } from '../start/stop-in-time.ts';
import type { Connection } from '../store/database/database.ts';
import { WorkerProcess } from './worker-process.ts';

/**
 * Keeps `config.processes` processes running. They share the listening port through node:cluster: this
 * process accepts connections and distributes them in turn.
 * starting -> all are started at once. One that cannot start ends the program, with its reason.
 * serving  -> one that ends is restarted after a pause. The pause doubles from 0.5 s to 30 s, and is reset after
 *             a minute of life. Meanwhile the lease of the ended process expires and the others claim its rows.
 *             The program is ready while all are.
 * stopping -> all get a stop message and are awaited. One that does not end by itself is killed.
 *
 * When this process ends for any reason, the others see their channels close and end at once.
 */
export interface SupervisorDeps {
  config: Config;
  connection: Connection;
  log: Logger;
}

const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const WELL_AFTER_MS = 60_000;

/** The number of this process in logs and metrics. */
export const PRIMARY = 0;

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #workers = new Map<number, WorkerProcess>();
  readonly #pauses = new Map<number, NodeJS.Timeout>();
  readonly #ownMetrics = processMetricsPage(PRIMARY);
  #state: 'starting' | 'serving' | 'stopping' = 'starting';

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    cluster.setupPrimary({
      // TypeScript here, JavaScript in an installed package.
      exec: join(import.meta.dirname, `worker-main${extname(import.meta.filename)}`),
      args: [],
      // As src/main.ts: a library looks for parts of Node that are experimental in 24.
      execArgv: [...process.execArgv, '--disable-warning=ExperimentalWarning'],
      // Log lines of several processes on one pipe could mix, so they pass through this process.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
  }

  async start(): Promise<Omit<Running, 'stop'>> {
    const numbers = Array.from({ length: this.#deps.config.processes }, (_, n) => n + 1);
    const started = await Promise.all(numbers.map((number) => this.#fork(number, SHORTEST_PAUSE_MS)));
    this.#state = 'serving';
    this.#reportReadiness();
    const credentials = started.map((one) => one.credentials).find((made) => made !== null) ?? null;
    return { url: started[0]?.url ?? '', credentials, nodes: started.map(({ nodeId }) => nodeId) };
  }

  async stop(): Promise<void> {
    this.#state = 'stopping';
    for (const pause of this.#pauses.values()) clearTimeout(pause);
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.send({ type: 'stop' });
    const late = setTimeout(() => this.#killLate(), this.#deps.config.graceSeconds * 1000 + OVERTIME_MS / 2);
    const exits = await Promise.all(workers.map((worker) => worker.ended));
    clearTimeout(late);
    if (exits.some(({ code }) => code !== 0)) process.exitCode = 1;
  }

  kill(): void {
    this.#state = 'stopping';
    for (const worker of this.#workers.values()) worker.kill();
  }

  #killLate(): void {
    this.#deps.log.error(
      { numbers: [...this.#workers.keys()] },
      'killing processes that did not stop in time',
    );
    this.kill();
  }

  /** Resolves once the process serves; rejects if it ends before. `pauseMs` is the pause before its successor. */
  async #fork(number: number, pauseMs: number) {
    const { connection, log } = this.#deps;
    const worker = new WorkerProcess({ number, connection, metricsOfAll: () => this.#metricsOfAll(), log });
    const startedAt = performance.now();
    this.#workers.set(number, worker);
    void worker.ended.then((exit) => {
      this.#workers.delete(number);
      this.#reportReadiness();
      if (this.#state !== 'serving') return;
      const isWell = performance.now() - startedAt > WELL_AFTER_MS;
      const nextMs = isWell ? SHORTEST_PAUSE_MS : pauseMs;
      log.error({ number, ...exit, pauseMs: nextMs }, 'a process ended; restarting it');
      this.#pauses.set(
        number,
        setTimeout(() => void this.#restart(number, nextMs), nextMs),
      );
    });
    const outcome = await worker.outcome;
    if (outcome.type === 'failed') throw new StartupError(outcome.reason);
    return outcome;
  }

  async #restart(number: number, pauseMs: number): Promise<void> {
    const { log } = this.#deps;
    try {
      const { nodeId } = await this.#fork(number, Math.min(LONGEST_PAUSE_MS, pauseMs * 2));
      log.info({ number, node: nodeId }, 'restarted a process');
      this.#reportReadiness();
    } catch (error) {
      // It ends now, which triggers the next try.
      log.error({ number, err: error }, 'failed to restart a process');
    }
  }

  #reportReadiness(): void {
    const missing =
      this.#deps.config.processes - [...this.#workers.values()].filter((w) => w.isStarted).length;
    const problem =
      missing === 0 ? null : `${missing} of ${this.#deps.config.processes} processes not running`;
    for (const worker of this.#workers.values()) worker.send({ type: 'readiness', problem });
  }

  async #metricsOfAll(): Promise<string> {
    const pages = [...this.#workers.values()].map((worker) => worker.metrics());
    return mergeMetricsPages(await Promise.all([this.#ownMetrics(), ...pages]));
  }
}
